"""What the sessions of the token tables are made of: code, English, Chinese and JSON, in pieces as tools return them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("code", "english", "chinese", "json")

# Of a sentence: who, when, what, and a remark.
_CHINESE = (
    "这个函数 解析器 缓存模块 配置文件 调度线程 第二个测试 日志组件 数据库连接 命令行入口 新的接口 错误处理 索引任务",
    "现在 总是 在启动时 失败以后 第一次运行时 如果没有网络就 每隔十秒 在提交之前 按照文档",
    "读取整个文件并逐行检查格式 把结果写回磁盘然后通知调用者 返回一个空列表而不是抛出异常 重新计算所有校验和 忽略大小写地比较两个名字"
    " 删除超过七天的旧记录 把超时时间增加一倍再试一次 只保留最近的两百条消息 用锁保护共享的计数器 将路径转换为相对于工作区的形式"
    " 拒绝任何不完整的请求 在第一百二十行附近丢失了小数部分 和另一个模块互相等待造成死锁 需要先安装依赖才能继续",
    "请先看一下测试再修改。 原因还不清楚，需要更多信息。 这一点和说明书里写的不一样。 修改之后全部通过。 注意不要改动自动生成的目录。"
    " 这里的行为在上一个版本中是相反的。 建议拆成两个更小的函数。",
)


class Pieces:
    """Pieces of one kind, of very different lengths, always the same for a seed."""

    def __init__(self, kind: str, seed: int) -> None:
        self._random = random.Random(f"{kind}{seed}")
        self._text = {"code": _code, "english": _english, "chinese": _chinese, "json": _json}[kind]()
        self._place = self._random.randrange(len(self._text))

    def take(self, least: int, most: int) -> str:
        """The next piece, of `least` to `most` characters; long ones are rare."""
        length = int(least * (most / least) ** self._random.random())
        start, self._place = self._place, self._place + length
        if self._place >= len(self._text):
            start, self._place = 0, length
        return self._text[start : self._place].strip() or "none"


@cache
def _code() -> str:
    return "\n".join(_contents("src/yagent", "*.py"))


@cache
def _english() -> str:
    return "\n".join([*_contents("docs", "*.md"), *_contents("prompts", "*.md")])


@cache
def _json() -> str:
    return "\n".join(
        [*_contents("protocol", "*.json"), *_contents("protocol/examples", "*.jsonl"), *_contents("src/yagent/llm", "*.json"), _rows()]
    )


@cache
def _chinese() -> str:
    chance = random.Random(5)
    sentences = []
    for number in range(6000):
        who, when, what, remark = (chance.choice(fragments.split()) for fragments in _CHINESE)
        sentences.append(f"{who}{when}{what}，{remark}" if number % 3 else f"{number}. {who}{when}{what}。\n")
    return "".join(sentences)


def _rows() -> str:
    chance = random.Random(6)
    names = ("total", "price", "user_id", "created_at", "isActive", "tags", "retry_after")
    rows = [
        {name: chance.choice((chance.randrange(10**6), f"{name}-{number}", None, True, 0.25)) for name in names} for number in range(900)
    ]
    return json.dumps(rows, indent=2)


def _contents(folder: str, form: str) -> Iterator[str]:
    return (path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob(form)))
