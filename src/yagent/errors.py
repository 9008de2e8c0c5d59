"""The tree of failures.

Every error a caller may want to tell apart derives from `YagentError` and lives beside the code that raises it; this page draws
the whole tree, and a test compares the drawing with the classes that exist. `exit_code` is what a one-shot run ends with when
the error reaches the top (product.md, table of exit codes).

YagentError
  ConfigError
    EditRefused
    NoProvider
  InvalidEvent
  ActivityTimeoutError
    IdleTimeoutError
    TotalTimeoutError
      TaskTimeoutError
      UnansweredError
  AbandonedError
  DamagedFileError
  DomainClosedError
  DuplicateAskError
  LockTimeoutError
  NotRegularFileError
  ModelError
    TransientModelError
      RateLimited
    ContextTooLong
    ModelConfigurationError
      RejectedRequest
    ModelGaveUp
      ReplayDiverged
      UnknownAgent
  EncodingError
  FileError
    EditError
    FileChangedError
    FileMissingError
    FileTooLargeError
    NotTextError
  ProcessError
  DamagedNote
  NoteNotKept
  NoSuchNote
  NoSuchArtifact
  ArtifactNotKept
  CopyError
  SearchError
  ShellError
  PromptError
  ContextFull
  RegistryError
  ParameterError
  LimitReached
  Panic
  GuardError
  WorkspaceGoneError
  RuleError
  GrantsFileError
  OutputClosed
  OutputFailed
    OutputMissing
  TerminalClosed
  RolloutError
  SessionInUse
  ForkedFromNothing
  TaskRefused
  ResumeRefused
  ReplayRefused
  RequestError
  NoDirectoryError
  NoSuchSession
  NoSuchStep
  NothingToResume
  ExportRefused
  RemovalRefused
  UnreadableRecords
  UnusableOption
  NotUnderstoodError
"""

from typing import ClassVar


class YagentError(Exception):
    """Base of every error of this project.

    The text says what happened, where, and what to do next, in that order; it is shown to people as it stands.
    """

    exit_code: ClassVar[int] = 1
