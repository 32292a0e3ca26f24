"""What is a name, and what only looks like one: small tables, no dictionary.

Latin names are capitalised words; those that stand first in a sentence count only if they are seen elsewhere too.
Japanese names are told by what stands behind them (さん, 部長, 市, 駅) or before them (株式会社).
"""

from __future__ import annotations

import re
import unicodedata

_STARTING = """a an the this that these those it its he she they we i you my your our his her their there here
    what which who
    whom whose when where why how if then else and or but so nor yet for from to of in on at by with without about
    after before during until since while as because although though unless is are was were be been do does did done
    have has had can could will would shall should may might must not no yes ok okay please thanks thank hello hi hey
    dear good great sure well now also only just still never always let make use add fix run see set get put go keep
    call ask tell send write read open close check change update remove delete move copy create build test try start
    stop note noted remember reminder summary understood ready done all any each every both some many most more less
    first second third next last finally however therefore meanwhile today tomorrow yesterday new old one two three
    four five six seven eight nine ten import return def class function const var true false none null error warning
    info debug example step part item total result results answer question section table figure option options
    sorry welcome maybe perhaps instead once again using based given once currently regarding according
    deliver deploy store save load book meet pay order review contact prefer avoid ensure got"""
STARTERS = frozenset(_STARTING.split())
"""Words that open sentences; they are cut off the front of a name."""

_EVERYDAY = """システム データ サーバー サーバ メール ファイル テスト コード ユーザー ユーザ アプリ サイト
    ページ プロジェクト チーム メンバー スケジュール ミーティング リスト エラー ログ メモ
    バージョン タスク プラン サービス ケース レベル グループ アカウント パスワード リンク コメント
    メッセージ チャット ボタン クリック テーブル フォルダ フォルダー ネット インターネット パソコン
    コンピュータ コンピューター スマホ レストラン コーヒー ビール パーティー イベント トップ アップ
    ダウン チェック セット ポイント タイプ モデル イメージ デザイン テーマ サイズ カード ドア
    パイプ バルブ アドバイス アイデア コスト メリット デメリット スタート ゴール オススメ おすすめ
    プログラム ソフト ハード デフォルト パターン ルール フォーマット リクエスト レスポンス
    クライアント"""
COMMON_KATAKANA = frozenset(_EVERYDAY.split())
_TAILS = """inc corp ltd llc gmbh co company group team street st avenue ave road rd lane square university
    college institute
    hospital bank hotel park school airport station city county river lake bay street office department project plan
    board center centre system service services api app server road house building jr sr"""
GENERIC_TAILS = frozenset(_TAILS.split())
"""Last words of names that say nothing alone: such a name is kept only as a whole."""

_PREFIX = re.compile(
    "^(?:主担当|担当者|担当|営業|取引先|上司|同僚|弊社|御社|当社|開発|経理|総務|人事|技術|広報|責任者|窓口|部下|友人|隣|妻|夫|娘|息子|"
    "新任|前任|後任|現|元|株式会社|有限会社|合同会社|㈱)+(?=..)"
)
_NOBODY = """仕 同 多 模 一 異 有 皆 王 神 客 何 お客 奥
    母 父 兄 姉 弟 妹 爺 婆 部 課 係 諸 主 貴"""
_NO_PERSON = frozenset(_NOBODY.split())
_NOWHERE = """地 都 市 区 町 村 県 府 大 小 当 同 全 各 本 他
    新 旧 両 政 幕 首 京 部 成 最 年 別 同地 都道府 市区町 都市 各地"""
_NO_PLACE = frozenset(_NOWHERE.split())
_ROOMS = """会議室 教室 映画館 美術館 博物館 図書館 体育館 大使館 旅館 本館の間 事務室 待合室 研究室 実験室
    浴室 寝室 和室 洋室 個室 病室 温室 お部屋 工房 この間 その間 あの間 世の間 昼の間 夜の間 仕事の間
    会議の間 休みの間"""
_ANY_ROOM = frozenset(_ROOMS.split())
_BLANK = re.compile(r"[\s・.]+")


def latin(text: str) -> str:
    """A Latin name's normal form: folded words, initials without their points, no possessive."""
    words = _BLANK.split(unicodedata.normalize("NFKC", text).replace("’", "'").casefold())
    return " ".join(word.removesuffix("'s") for word in words if word)


def trimmed(text: str) -> tuple[int, int]:
    """Where a run of capitalised words has its name: (start, end); the same twice if there is none."""
    start = 0
    while start < len(text):
        end = text.find(" ", start)
        end = len(text) if end < 0 else end
        if text[start:end].casefold().rstrip(".'’") not in STARTERS:
            break
        start = min(end + 1, len(text))
    return start, len(text.rstrip())


def person(stem: str) -> str:
    """A person's name without title or office; "" if it is no name (お客様, 仕様)."""
    stem = unicodedata.normalize("NFKC", stem)
    stem = _PREFIX.sub("", stem)
    return "" if stem in _NO_PERSON or stem[-1:] in {"仕", "模", "客", "皆"} else stem


def place(stem: str, suffix: str) -> str:
    """A place with its suffix; "" if it is none (地区, 都市)."""
    if stem in _NO_PLACE or (len(stem) == 1 and suffix not in {"県", "市", "駅", "区", "町", "港"}):
        return ""
    return unicodedata.normalize("NFKC", stem + suffix)


def room(text: str) -> str:
    """A room, a hall or a building by its name; "" if it is only the word for one (会議室, 図書館)."""
    key = unicodedata.normalize("NFKC", text)
    return "" if len(key) < 3 or key in _ANY_ROOM else key


def firm(stem: str) -> str:
    """A company's name without its legal form."""
    return unicodedata.normalize("NFKC", stem).casefold()


def katakana(text: str) -> tuple[str, float]:
    """A katakana run's normal form, and the share of a name's weight that it has."""
    word = unicodedata.normalize("NFKC", text).strip("・ー")
    return word, 0.2 if word in COMMON_KATAKANA else 0.6


def last_name(key: str) -> str:
    """The word that may stand for a whole Latin name; "" if none may."""
    words = key.split()
    alone = words[-1] if len(words) > 1 else ""
    return alone if len(alone) > 2 and alone.isalpha() and alone.isascii() and alone not in GENERIC_TAILS else ""
