"""What stands around the facts: plain talk, pasted notes, and noise: numbers and names that nobody asks for."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple


class Words(NamedTuple):
    """One language's sentences.

    Attributes:
        openings, middles, ends: a sentence is one of each.
        noise: sentences with `{number}`, `{name}` or `{amount}` in them.
        answers: what an assistant says, a sentence each.
        notes: lines of a pasted note. paste: what introduces one.
        names: for noise. amount: makes one.
        closing: what the list of questions begins with.
        system: the system prompt.
    """

    openings: tuple[str, ...]
    middles: tuple[str, ...]
    ends: tuple[str, ...]
    between: str
    noise: tuple[str, ...]
    answers: tuple[str, ...]
    notes: tuple[str, ...]
    paste: tuple[str, ...]
    names: tuple[str, ...]
    amount: Callable[[random.Random], str]
    closing: str
    system: str


def _dollars(rng: random.Random) -> str:
    return f"${rng.randrange(11, 90)}"


def _yen(rng: random.Random) -> str:
    return f"{rng.randrange(11, 90)}00円"


ENGLISH = Words(
    openings=(
        "To be honest,",
        "As far as I can tell",
        "Thinking about it again,",
        "On the way home I noticed that",
        "My impression is that",
        "Somebody said this morning that",
        "It still bothers me that",
        "I was glad to see that",
        "Before I forget,",
        "When I look at it now,",
        "After the last round of changes",
        "I keep hearing that",
    ),
    middles=(
        "the plan for the kitchen",
        "the draft of the second chapter",
        "our way of sorting the incoming mail",
        "the idea with the shared calendar",
        "the garden behind the workshop",
        "the training for new colleagues",
        "the discussion about the logo",
        "the slow search in the archive",
        "the choice of the supplier",
        "the opening text of the brochure",
        "the route over the hills",
        "the new layout of the shelves",
        "the way the report is written",
        "the music for the opening",
        "the heating in the back room",
        "the list of open questions",
        "the old import script",
        "the cooking course",
        "the wording of the invitation",
        "the light in the stairwell",
    ),
    ends=(
        "needs a calmer look before anybody decides.",
        "is better than most of us expected.",
        "would be easier to explain with a small example.",
        "takes more patience than it should.",
        "could wait until the rest is settled.",
        "is the part that everybody asks me about.",
        "does not fit the rest of what we have so far.",
        "was a good decision, looking back.",
        "should be said in plainer words.",
        "works well enough, although nobody is proud of it.",
        "might be worth trying the other way round.",
        "depends on things that we do not control.",
        "has improved since we talked about it.",
        "makes the whole thing feel heavier than it is.",
        "is fine as it stands, if you ask me.",
        "deserves a second opinion from outside.",
    ),
    between=" ",
    noise=(
        "It took us {number} minutes longer than last time.",
        "{name} laughed about it for the rest of the day.",
        "There were {number} people in the queue and nobody complained.",
        "Lunch was {amount} for all of us, which is fair.",
        "{name} tried the same thing years ago and gave up.",
        "I counted {number} mistakes on the first page alone.",
        "The bus was full again, so I walked the last {number} metres.",
        "Page {number} of the manual says the opposite, by the way.",
        "They charged {amount} for a bag of screws.",
        "My neighbour {name} would have done it differently.",
    ),
    answers=(
        "That sounds sensible, and I would keep it as it is for now.",
        "I would start with the smallest part and look at the rest afterwards.",
        "Thank you, I have taken note of that.",
        "A short test with two or three people should show which way is better.",
        "If it were mine, I would sleep on it and decide with a fresh head.",
        "I understand; the tone matters more here than the details.",
        "That is a fair point, and it speaks for waiting a little.",
        "You could put the open question first and the background below it.",
        "I agree that it feels heavier than it is.",
        "Then let us leave that aside and come back to it when the rest is clear.",
    ),
    notes=(
        "- agreed that the order of the topics stays as it is",
        "- somebody has to ask the caretaker about the side door",
        "- the draft goes round once more before it is printed",
        "- no objections to the new colours, some to the typeface",
        "- the question of the storage room stays open",
        "- everybody brings one example of a text that works",
        "- the old cables are to be taken out of the cupboard",
        "- thanks to those who stayed behind to clean up",
        "- the next meeting is a short one, standing",
        "- we do not print the long version, only the summary",
        "- the search should forgive small spelling mistakes",
        "- whoever opens the windows closes them again",
    ),
    paste=("Here are the notes from this afternoon:", "Pasting what was written on the board:"),
    names=("Oliver", "Priya", "Hannah", "Mateo", "Ingrid", "Samir", "Beatrice", "Callum", "Noor", "Agnes"),
    amount=_dollars,
    closing="Now please answer these from what I told you in this conversation:",
    system="You are a friendly assistant who helps with everyday work and private plans. Answer briefly.",
)

JAPANESE = Words(
    openings=(
        "正直に言うと、",
        "あらためて考えると、",
        "帰り道で気づいたのですが、",
        "私の印象では、",
        "今朝聞いた話では、",
        "まだ気になっているのは、",
        "うれしかったことに、",
        "忘れないうちに書くと、",
        "いま見直してみると、",
        "前回の変更のあと、",
        "よく言われるのですが、",
        "個人的には、",
    ),
    middles=(
        "台所の計画は",
        "第二章の下書きは",
        "届いた郵便の仕分け方は",
        "共有の予定表という案は",
        "作業場の裏の庭は",
        "新しい同僚向けの研修は",
        "ロゴについての議論は",
        "書庫での遅い検索は",
        "仕入れ先の選び方は",
        "冊子の書き出しは",
        "丘を越える道順は",
        "棚の新しい並べ方は",
        "報告書の書きぶりは",
        "開会のときの音楽は",
        "奥の部屋の暖房は",
        "未解決の質問の一覧は",
        "古い取り込み処理は",
        "料理教室は",
        "招待状の言い回しは",
        "階段の照明は",
    ),
    ends=(
        "誰かが決める前に、もう少し落ち着いて見たほうがよさそうです。",
        "思っていたよりもずっと良くできています。",
        "小さな例があれば、もっと説明しやすくなると思います。",
        "本来よりも根気が必要になっています。",
        "ほかのことが片づくまで待ってもよいと思います。",
        "みんなから一番よく聞かれるところです。",
        "これまでのほかの部分とうまく合っていません。",
        "振り返ってみると良い判断でした。",
        "もっとやさしい言葉で言ったほうがよいです。",
        "誰も自慢はしませんが、十分に役に立っています。",
        "逆の順番で試してみる価値があるかもしれません。",
        "自分たちでは決められないことに左右されます。",
        "前に話したときよりも良くなりました。",
        "全体を実際よりも重く感じさせています。",
        "私に言わせれば、いまのままで問題ありません。",
        "外の人の意見も聞いてみたいところです。",
    ),
    between="",
    noise=(
        "前回よりも{number}分長くかかりました。",
        "{name}さんは一日中そのことで笑っていました。",
        "列には{number}人いましたが、誰も文句を言いませんでした。",
        "お昼は全員で{amount}でしたので、まあ妥当です。",
        "{name}さんは何年も前に同じことを試してあきらめたそうです。",
        "最初のページだけで{number}か所の間違いを見つけました。",
        "バスが満員だったので、最後の{number}メートルは歩きました。",
        "ちなみに説明書の{number}ページには逆のことが書いてあります。",
        "ねじ一袋に{amount}も取られました。",
        "隣の{name}さんなら違うやり方をしたはずです。",
    ),
    answers=(
        "それはよい考えだと思います。いまのところはそのままにしておきましょう。",
        "まず一番小さいところから始めて、残りはあとで見るのがよいと思います。",
        "ありがとうございます。心に留めておきます。",
        "何人かで短く試してみれば、どちらがよいか分かるはずです。",
        "私なら一晩おいて、すっきりした頭で決めます。",
        "分かりました。ここでは細かいことよりも雰囲気のほうが大切ですね。",
        "もっともなご指摘です。少し待つ理由になりますね。",
        "未解決の質問を先に書き、背景はその下に置くとよいでしょう。",
        "実際よりも重く感じるという点には同感です。",
        "では、それはいったん置いておき、ほかがはっきりしてから戻りましょう。",
    ),
    notes=(
        "- 話題の順番はこのままでよいということになった",
        "- 横の扉について管理の人に誰かが聞く",
        "- 印刷の前に下書きをもう一度回す",
        "- 新しい色に反対はなし、書体には少しあり",
        "- 物置の件は引き続き未定",
        "- うまくいっている文章の例を各自ひとつ持ってくる",
        "- 古い配線は戸棚から出しておく",
        "- 残って片づけてくれた人に感謝",
        "- 次の会は立ったまま短く済ませる",
        "- 長いほうは印刷せず、要点だけにする",
        "- 検索は少しの打ち間違いなら許すようにする",
        "- 窓を開けた人が閉める",
    ),
    paste=("今日の午後のメモを貼ります。", "白板に書いてあったことを写します。"),
    names=("大西", "野村", "早川", "藤井", "中島", "小川", "三浦", "西田", "上田", "森本"),
    amount=_yen,
    closing="では、この会話で私がお伝えしたことから、次の質問に答えてください。",
    system="あなたは日々の仕事や私的な計画を手伝う、親しみやすいアシスタントです。短く答えてください。",
)

WORDS: dict[str, Words] = {"en": ENGLISH, "ja": JAPANESE}


def plain(rng: random.Random, words: Words) -> str:
    """A sentence without any number or name."""
    return words.between.join((rng.choice(words.openings), rng.choice(words.middles), rng.choice(words.ends)))


def noisy(rng: random.Random, words: Words) -> str:
    """A sentence with a number, a name or an amount that nobody asks for."""
    return rng.choice(words.noise).format(
        number=rng.randrange(12, 400), name=rng.choice(words.names), amount=words.amount(rng)
    )


def pasted(rng: random.Random, words: Words) -> str:
    """A note that was pasted into the message: some lines without values."""
    return "\n".join((rng.choice(words.paste), *rng.choices(words.notes, k=rng.randrange(12, 31))))
