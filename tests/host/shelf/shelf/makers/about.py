from dataclasses import dataclass


@dataclass
class About:
    name: str
    device: str
    tool: str
    nickname: str = None
