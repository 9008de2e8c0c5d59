"""Opens a recorded session again. Loaded when one is: nothing of this is needed for a new one."""

from yagent.rollout.reader import Account, session_of
from yagent.rollout.replay import replay
from yagent.rollout.scan import session_records
from yagent.runtime.supervise import in_thread
from yagent.session.keeping import Keeper
from yagent.session.past import Past, find
from yagent.session.request import Resume
from yagent.session.resume import ResumeRefused
from yagent.session.taking_up import Reopening, TakingUp


async def reopen(keeper: Keeper, wanted: Resume, how: Reopening) -> Past:
    """The session that is meant, with its record open for going on; nobody else can go on with it meanwhile.

    Raises `ResumeRefused`, or another YagentError where it is open elsewhere or cannot be read.
    """
    if not how.settings.enable:
        raise ResumeRefused("Sessions are not resumed here: [resume] enable or YAGENT_RESUME says so. Change that, or start anew.")
    if keeper.directory is None:
        raise ResumeRefused("There are no records to go on with: the data directory cannot be used. Set YAGENT_HOME.")
    path = await in_thread(find, keeper.directory, how.workspace, wanted)
    session, account = session_of(path), Account()
    await keeper.reopen(path, session)
    records = await in_thread(session_records, keeper.directory, session, account)
    director = await in_thread(replay, records.director)
    keeper.go_on_from(records.director[:-1], max(records.position, director.position))
    return Past(records, director, TakingUp(records, how), tuple(account.skipped))
