"""What is planted into a talk and asked for at its end: one exact value each, of sixteen kinds.

All values are invented; hosts and mail domains end in `.example`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from bench.memory import values


@dataclass(frozen=True, slots=True)
class Fact:
    """One planted fact.

    Attributes:
        kind: of value (`id`, `url`, …), the same word in both languages.
        value: what has to be in view, character by character.
        said: the sentence that plants it. question: what is asked at the end; does not contain the value.
    """

    kind: str
    value: str
    said: str
    question: str


class _Kind(NamedTuple):
    """How one kind is said and asked for, what it is about, and how its values are made: alike, or topic by topic."""

    said: tuple[str, ...]
    question: str
    about: tuple[str, ...]
    makes: tuple[values.Make, ...]


_ENGLISH: dict[str, _Kind] = {
    "id": _Kind(
        ("The order number for {about} is {value}.", "They filed {about} under {value}."),
        "Which number was {about} filed under?",
        ("the router replacement", "the chair return", "the visa application", "the warranty claim"),
        (values.order_number,),
    ),
    "url": _Kind(
        ("The page for {about} is {value}, please use that one.", "You find {about} at {value}."),
        "What is the address of the page for {about}?",
        ("the handover", "the floor plan", "the seating chart", "the release notes"),
        (values.url,),
    ),
    "amount": _Kind(
        ("We agreed on {value} for {about}.", "The quote for {about} came to {value}."),
        "Which amount was agreed for {about}?",
        ("the roof repair", "the translation", "the spring campaign", "the van"),
        (values.dollars,),
    ),
    "name": _Kind(
        ("{value} is responsible for {about} from now on.", "For {about} the contact is {value}."),
        "Who is responsible for {about}?",
        ("the audit", "the school visit", "the boat licence", "the museum loan"),
        (
            values.joined(
                ("Marta", "Ines", "Tobias", "Leopold", "Yusuf", "Saskia", "Anneke", "Rafaela"),
                ("Lindqvist", "Okonjo", "Varga", "Szabolcsi", "Haldane", "Ferreira", "Novotny", "Abernathy"),
            ),
        ),
    ),
    "date": _Kind(
        ("The deadline for {about} is {value}.", "{about} has been moved to {value}."),
        "What date was set for {about}?",
        ("the grant proposal", "the inspection", "the lease renewal", "the concert"),
        (values.day,),
    ),
    "path": _Kind(
        ("The file for {about} lies at {value}.", "I saved {about} as {value}."),
        "Where is the file for {about}?",
        ("the year's totals", "the survey", "the sensor log", "the mailing list"),
        (values.path,),
    ),
    "preference": _Kind(
        ("For {about} I always want {value}, please remember that.", "About {about}: I prefer {value}."),
        "What do I prefer for {about}?",
        ("flights", "breakfast", "written answers", "meetings"),
        (
            values.one_of("an aisle seat near the exit", "a window seat over the wing"),
            values.one_of("porridge without sugar", "black tea with lemon"),
            values.one_of("British spelling and short paragraphs", "metric units throughout"),
            values.one_of("afternoons and never Mondays", "nothing before lunch"),
        ),
    ),
    "email": _Kind(
        ("Mail about {about} goes to {value}.", "For {about} write to {value}."),
        "Which mail address is for {about}?",
        ("refunds", "the choir", "press questions", "the garden club"),
        (values.email,),
    ),
    "phone": _Kind(
        ("You reach {about} under {value}.", "The number of {about} is {value}."),
        "What is the phone number of {about}?",
        ("the night desk", "the vet", "the piano tuner", "the caretaker"),
        (values.london,),
    ),
    "hash": _Kind(
        ("The last good commit for {about} is {value}.", "{about} is pinned to commit {value}."),
        "Which commit belongs to {about}?",
        ("the parser", "the billing page", "the importer", "the scheduler"),
        (values.commit,),
    ),
    "version": _Kind(
        ("{about} must stay on {value}.", "We run {about} in {value}, nothing newer."),
        "Which version of {about} do we stay on?",
        ("the firmware", "the map editor", "the label printer's driver", "the query planner"),
        (values.version,),
    ),
    "measure": _Kind(
        ("{about} may be at most {value}.", "We measured {about}: {value}."),
        "What was measured or allowed for {about}?",
        ("the parcel", "the shelf", "the gap behind the oven", "the rope"),
        (values.measure,),
    ),
    "host": _Kind(
        ("{about} listens on {value}.", "Point {about} to {value}."),
        "Which address does {about} use?",
        ("the staging database", "the print server", "the test gateway", "the camera"),
        (values.host,),
    ),
    "time": _Kind(
        ("{about} leaves at {value} sharp.", "{about} starts at {value}."),
        "At what time is {about}?",
        ("the ferry", "the night train", "the rehearsal", "the fire drill"),
        (values.clock,),
    ),
    "place": _Kind(
        ("{about} is in {value}.", "We meet for {about} in {value}."),
        "Where is {about}?",
        ("the interview", "the workshop", "the spare key", "the exhibition"),
        (
            values.joined(
                ("Hall", "Room", "Studio", "Pavilion"), ("Juniper", "Basalt", "Cormorant", "Larkspur", "Meridian")
            ),
        ),
    ),
    "title": _Kind(
        ("The working title of {about} is “{value}”.", "They named {about} “{value}”."),
        "What is the title of {about}?",
        ("the novel", "the podcast", "the new ship", "the exhibition catalogue"),
        (values.joined(("Salt", "Quiet", "Copper", "Borrowed"), ("Cartography", "Orchard", "Lanterns", "Meridians")),),
    ),
}

_JAPANESE: dict[str, _Kind] = {
    "id": _Kind(
        ("{about}の受付番号は{value}です。", "{about}は{value}で登録されています。"),
        "{about}の受付番号は何でしたか。",
        ("ルーター交換", "椅子の返品", "ビザ申請", "保証の申し込み"),
        (values.order_number,),
    ),
    "url": _Kind(
        ("{about}のページは {value} です。", "{about}は {value} にまとめました。"),
        "{about}のページのアドレスは何でしたか。",
        ("引き継ぎ", "間取り図", "座席表", "リリースノート"),
        (values.url,),
    ),
    "amount": _Kind(
        ("{about}は{value}で合意しました。", "{about}の見積もりは{value}でした。"),
        "{about}の金額はいくらでしたか。",
        ("屋根の修理", "翻訳の依頼", "春の広告", "社用車"),
        (values.yen,),
    ),
    "name": _Kind(
        ("{about}の担当は今日から{value}さんです。", "{about}については{value}さんが窓口です。"),
        "{about}の担当者は誰ですか。",
        ("監査", "学校訪問", "船舶免許", "美術館の貸し出し"),
        (
            values.joined(
                ("佐伯", "綾瀬", "桐島", "日下部", "榊原", "小鳥遊", "白石", "真壁"),
                ("美咲", "健吾", "千尋", "隆之介", "沙也加", "誠二郎", "佳乃", "圭一"),
                "",
            ),
        ),
    ),
    "date": _Kind(
        ("{about}の締め切りは{value}です。", "{about}は{value}に延期になりました。"),
        "{about}はいつになりましたか。",
        ("助成金の申請", "立ち入り検査", "契約の更新", "演奏会"),
        (values.japanese_day,),
    ),
    "path": _Kind(
        ("{about}のファイルは {value} にあります。", "{about}を {value} に保存しました。"),
        "{about}のファイルはどこにありますか。",
        ("年間の集計", "アンケート", "センサーの記録", "名簿"),
        (values.path,),
    ),
    "preference": _Kind(
        ("{about}はいつも{value}でお願いします。", "{about}については、{value}が好みです。"),
        "{about}について私の好みは何でしたか。",
        ("飛行機の席", "朝ごはん", "文章の書き方", "打ち合わせ"),
        (
            values.one_of("出口に近い通路側", "翼の上の窓側"),
            values.one_of("砂糖なしのおかゆ", "レモン入りの紅茶"),
            values.one_of("敬体で短い段落", "図よりも箇条書き"),
            values.one_of("午後だけで月曜以外", "昼食のあとの静かな部屋"),
        ),
    ),
    "email": _Kind(
        ("{about}の連絡先は {value} です。", "{about}のことは {value} に送ってください。"),
        "{about}のメールアドレスは何でしたか。",
        ("返金", "合唱団", "取材の問い合わせ", "園芸部"),
        (values.email,),
    ),
    "phone": _Kind(
        ("{about}の電話は{value}です。", "{about}には{value}でつながります。"),
        "{about}の電話番号は何でしたか。",
        ("夜間受付", "動物病院", "調律師さん", "管理人さん"),
        (values.tokyo,),
    ),
    "hash": _Kind(
        ("{about}で最後に動いたコミットは {value} です。", "{about}は {value} に固定しています。"),
        "{about}のコミットはどれでしたか。",
        ("構文解析", "請求画面", "取り込み処理", "予約処理"),
        (values.commit,),
    ),
    "version": _Kind(
        ("{about}は {value} のままにしてください。", "{about}は {value} を使っています。"),
        "{about}はどの版を使っていますか。",
        ("ファームウェア", "地図エディタ", "ラベル印刷機のドライバ", "検索の部品"),
        (values.version,),
    ),
    "measure": _Kind(
        ("{about}は{value}までです。", "{about}を測ると{value}でした。"),
        "{about}の値はいくつでしたか。",
        ("小包", "本棚", "オーブンの後ろのすき間", "ロープ"),
        (values.measure,),
    ),
    "host": _Kind(
        ("{about}は {value} で待ち受けています。", "{about}の接続先は {value} です。"),
        "{about}の接続先は何でしたか。",
        ("検証用のデータベース", "印刷サーバー", "試験用の中継器", "監視カメラ"),
        (values.host,),
    ),
    "time": _Kind(
        ("{about}は{value}ちょうどに出ます。", "{about}は{value}からです。"),
        "{about}は何時からですか。",
        ("フェリー", "夜行列車", "通し稽古", "避難訓練"),
        (values.clock,),
    ),
    "place": _Kind(
        ("{about}は{value}で行います。", "{about}の場所は{value}です。"),
        "{about}の場所はどこですか。",
        ("面接", "講習会", "予備の鍵の受け渡し", "展示"),
        (values.joined(("北館", "南館", "別館"), ("けやきの間", "すみれ会議室", "第七工房", "大ホール"), ""),),
    ),
    "title": _Kind(
        ("{about}の仮題は「{value}」です。", "{about}は「{value}」という名前になりました。"),
        "{about}の題名は何でしたか。",
        ("小説", "ポッドキャスト", "新しい船", "図録"),
        (values.joined(("塩の", "静かな", "銅色の", "借りものの"), ("地図帳", "果樹園", "灯台", "子午線"), ""),),
    ),
}

KINDS: dict[str, dict[str, _Kind]] = {"en": _ENGLISH, "ja": _JAPANESE}
MOST = 4 * len(_ENGLISH)
"""Facts that one talk can hold."""


def facts(rng: random.Random, language: str, count: int) -> list[Fact]:
    """`count` facts (at most MOST), every kind in turn, no value inside another one."""
    kinds = KINDS[language]
    found: list[Fact] = []
    for number in range(count):
        name = list(kinds)[number % len(kinds)]
        kind = kinds[name]
        about = kind.about[number // len(kinds)]
        make = kind.makes[number // len(kinds) % len(kind.makes)]
        value = _new(rng, make, [fact.value for fact in found])
        said = rng.choice(kind.said).format(about=about, value=value)
        question = kind.question.format(about=about)
        found.append(Fact(name, value, said[0].upper() + said[1:], question))
    return found


def _new(rng: random.Random, make: values.Make, taken: list[str]) -> str:
    value = make(rng)
    while any(value in other or other in value for other in taken):
        value = make(rng)
    return value
