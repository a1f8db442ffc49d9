"""The texts of ``reticent explain WORD``: what a word means here, in a few plain lines."""

from __future__ import annotations

import difflib
from typing import Final

from reticent.errors import QuestionError

TEXTS: Final = {
    "no-reply": """
        No reply is an answer: the method could not show that its result depends on no one person too much, so it keeps
        silent. It was charged like any other answer, because the silence itself tells a little, and that little is
        covered by the guarantee.

        It never says what in the rows was the cause. That would be a second answer about them, and nobody paid for it.
        A note beside it names what is public, or was paid for: that most cells could not be read, as a released share
        says. No reply does not mean that the data are wrong.

        What helps: bounds known without looking at the file, a less extreme question (the median instead of the 99.9 %
        quantile), fewer groups, a larger ε, a δ. Asking again is a new release and is charged again. `reticent plan`
        says beforehand, for free, where no reply is likely.
        """,
    "epsilon": """
        ε (epsilon) limits how far a release can move anybody's opinion about one person: the odds change by at most a
        factor e^ε. With ε = 0.1 that is 1.11, with ε = 1 it is 2.72, with ε = 3 it is 20.1.

        The ε of releases about the same people add up; the ledger does the sum and refuses what is above the budget.
        Smaller is safer and noisier: half the ε is about twice the noise.
        """,
    "delta": """
        δ (delta) is a small chance by which the promise of ε may fail. It should be far below one over the number of
        people: with 20,000 people, 1e-7 or less. δ 0.01 would allow 200 of them to be exposed outright.

        Counts, means and quantiles here need none. Where nothing needs δ, none is charged, even if it was offered.
        """,
    "rho": """
        ρ (rho) is the currency of zero-concentrated differential privacy, an alternative to ε that adds up more tightly
        over many releases. A budget is either in ε (and δ) or in ρ, and stays so. A pure ε enters an
        account in ρ as ε²/2.
        """,
    "adjacency": """
        Adjacency says which two tables must look alike to a reader of the release. There are two, and no default:

        add_remove hides whether somebody is in the table at all. The number of people stays private.
        substitute hides what somebody's record says. The number of people is public.

        A guarantee under one is not a guarantee under the other, so it is part of every release. See also: add_remove,
        substitute, person.
        """,
    "add_remove": """
        Neighbouring tables differ by one whole person, with all rows of that person. A release then hides whether
        someone is in the table, and with twice the ε what their record says. The number of people is private: where a
        statistic needs it, a noisy count is bought, unless a public figure is declared as [person] people.
        """,
    "substitute": """
        Neighbouring tables differ in what one person's record says; the number of people is the same. A release then
        hides what someone's record says. It does not hide that they took part, and the number of people is public.
        """,
    "person": """
        The person is who is protected, with all their rows. [person] column names the column that tells people apart,
        or rows = "one_each" says that every row is somebody else. Where one person can have several rows, at_most says
        how many are used. The rest are left out. Every release reports which share of people that concerned.

        People whose records go together (a family, a household) are protected less: with m of them, m times the ε.
        """,
    "bounds": """
        low and high of a column are a range known without looking at the file: from the questionnaire, the protocol, a
        law. A value outside is moved to the nearer end. A minimum or maximum taken from the file is somebody's value,
        and the guarantee would not cover it; that is why `reticent init` leaves bounds empty.

        Wide bounds cost accuracy, since one person could be anywhere in them. The median and other quantiles can do
        without bounds; they may then give no reply.
        """,
    "budget": """
        The budget is the most that may ever be released about these people, in ε and δ (or in ρ). Somebody decided it:
        say who under approved. Every release draws on it, through whichever program it was made. When it is spent,
        nothing more can be released about these people.
        """,
    "audit": """
        An audit runs the program on made-up rows, before anybody's rows are read: a table and one that differs in one
        person, with the same noise. Nothing published may differ, and no exact number may move further than its noise
        was made for. `reticent audit STUDY` does it for the releases of a study, `reticent release --audit` just before
        one; `reticent audit` alone runs built-in plans and tests every mechanism.

        An audit refutes and never proves: a pass says that nothing was found where it looked. The proof is the tree in
        the certificate. The row 'capped' is about a question that is added by itself. See also: capped, certificate.
        """,
    "capped": """
        Where one person can have more rows than are kept, every release says which share of people that concerned. This
        share is an answer about the rows like any other, so it gets noise. It costs a twentieth of the share of each
        answer it speaks of. In a release it is printed as a note; in a plan and an audit it is the row 'capped'.
        """,
    "incomplete": """
        A cell is odd where it is missing, cannot be read as what its column is declared to be, or is not listed. A row
        with an odd cell is incomplete: answers on the column leave it out, or count the value that stands in. Beside
        every such answer stands a noisy share of incomplete rows. It costs a twentieth of the share of each answer, and
        is bought once for the same columns. In a plan and an audit it is a row incomplete(column).

        A large share often means that numbers are written otherwise than declared: [study] decimal, thousands, na,
        symbols, encoding. complete = true for a column says that you know it to have no odd cell; then no share is
        bought. Where the share would be known to no better than one row in ten, it is left out, and the plan says so.
        """,
    "ledger": """
        The ledger is one file that holds the budget and every charge, in order, each entry linked to the one before it.
        It is charged before any row is read, and what is charged stays charged, also after a crash. Keep it with the
        data and back it up; an older copy put in its place is noticed.

        `reticent ledger show` lists the releases, `reticent ledger verify` checks the chain and the sums.
        """,
    "interval": """
        The interval beside an answer covers, in 95 of 100 cases, the value in the population the people were drawn
        from. For counts and sums it covers the value of this table. It accounts for both parts shown beside it, as
        half-widths: noise is what privacy added, sampling is what any survey of this size would have. An interval may
        reach further on one side of its answer: at a bound, or where values are skewed. Its ends are what to print.

        What it does not cover is said as a note: values moved to a bound, rows left out by a cap.
        """,
    "noise": """
        Noise is a random number added on purpose, so that the answer with and without one person look alike. Its law is
        public and its size does not depend on the rows. It is drawn from the operating system's generator, exactly, and
        it cannot be repeated: whoever could repeat it could subtract it. Averaging many releases would remove it, which
        is why each of them is charged.
        """,
    "certificate": """
        The certificate is the .json file of a release: the answers, the loss with its whole proof, what was charged,
        who approved. Anyone can check it: `reticent verify CERT --ledger LEDGER --key officer.pub` derives the loss
        again from the proof, finds the entry in the ledger, and checks the signature.

        A fitted model has one too, with every number it learned, and a session that has ended, with all it answered:
        `model.certificate_.save("model.json")`.

        Sign with `reticent release … --key officer.key`; make a pair of keys with `reticent init --key officer`.
        """,
    "plan": """
        A plan says what a release would cost and how wide its intervals would be. It uses the study file alone: no row
        is read and nothing is charged, so plan as often as you like.

        ± noise and ± sampling are the two half-widths of the 95 % interval. The first number is that of a typical
        column. In brackets are the least and the greatest of several public shapes, since no plan knows your column.
        P(reply) is the probability that there is an answer and not a no reply. A letter at the end of a line is that of
        its note.
        """,
    "rehearse": """
        A rehearsal runs the same code on made-up rows, drawn from the study file alone. It is free, it is about nobody,
        and it gives the same numbers every time.
        """,
    "release": """
        A release publishes answers: the ledger is charged, then the rows are read, the noise is drawn, and the answers
        leave with their intervals, the guarantee and a certificate. What is released cannot be taken back.
        """,
    "groups": """
        `mean(x) by site` asks once for each value of a category that the study file lists. The list is public; values
        found in the file are not, since the name of a rare group may name a person. A listed group without anybody in
        it gets an answer too.

        Where a person is in one group only (constant = true, or one row each), all groups together cost no more than
        one. Else the price grows with the number of groups one person may be in.
        """,
    "survey": """
        A survey by randomized response asks so that nobody, not even who asks, can know one person's answer: chance is
        mixed in on the respondent's side, before anything is sent. With two coins a true yes is heard as yes 75 times
        in 100 and a true no 25 times. One answer changes anybody's odds by at most a factor of 3; thousands of them
        still give the share of all people, with an interval.

        `reticent survey design` chooses the coins and says how many people it takes. `simulate` tries it on made-up
        people first. `form` writes a page that draws in the browser, and `cards` a spinner to print. `collect` makes a
        table of what was handed in, and `estimate` publishes.

        There is no ledger and no budget: what arrives is protected already, and any number of analyses of it costs
        nothing more. What does cost is asking the same person again. Each respondent's answers to several questions add
        up; an answer given openly, such as a region, is not protected at all.
        """,
    "exit-codes": """
        0     done; every question was answered
        2     the command line could not be understood
        3     released, or compared, with at least one no reply
        4     refused: the budget does not cover it, has ended or is closed; nothing was charged
        5     refused: the study file, the question or the ledger file; nothing was read, nothing was charged
        6     a check failed (verify, ledger verify, survey check, doctor, a missing source), or audit found something
        70    internal fault; after the charge, the charge stays and nothing is shown
        130   stopped by the user
        """,
}

SAME: Final = {
    "ε": "epsilon",
    "eps": "epsilon",
    "loss": "epsilon",
    "δ": "delta",
    "ρ": "rho",
    "zcdp": "rho",
    "neighbours": "adjacency",
    "neighbors": "adjacency",
    "add-remove": "add_remove",
    "unit": "person",
    "people": "person",
    "cap": "person",
    "replay": "audit",
    "verification": "audit",
    "rows": "person",
    "low": "bounds",
    "high": "bounds",
    "range": "bounds",
    "sampling": "interval",
    "accuracy": "interval",
    "confidence": "interval",
    "by": "groups",
    "group": "groups",
    "signature": "certificate",
    "key": "certificate",
    "randomized-response": "survey",
    "local": "survey",
    "local-model": "survey",
    "spinner": "survey",
    "exit": "exit-codes",
    "exit-code": "exit-codes",
    "noreply": "no-reply",
    "missing": "incomplete",
    "unreadable": "incomplete",
    "complete": "incomplete",
    "na": "incomplete",
    "rehearsal": "rehearse",
    "p(reply)": "plan",
    "half-width": "interval",
    "half-widths": "interval",
}


def listed() -> tuple[str, ...]:
    """The words that are explained, in the order of the alphabet."""
    return tuple(sorted(TEXTS))


def word_of(text: str) -> str | None:
    """The word meant by ``text``, if it is one of ours."""
    plain = "-".join(text.lower().replace("_", " ").replace("-", " ").split())
    for form in (plain, plain.replace("-", "_")):
        found = SAME.get(form, form)
        if found in TEXTS:
            return found
    return None


def explained(word: str) -> tuple[str, ...]:
    """The text of a word as paragraphs; lines that belong together stay together."""
    paragraphs = [block.split("\n") for block in TEXTS[word].strip("\n").split("\n\n")]
    return tuple(_paragraph(word, [line.strip() for line in lines if line.strip()]) for lines in paragraphs)


def _paragraph(word: str, lines: list[str]) -> str:
    kept = word == "exit-codes" or all(line.startswith(("add_remove ", "substitute ")) for line in lines)
    return ("\n" if kept else " ").join(lines)


def unknown(text: str) -> QuestionError:
    """The refusal for a word that is neither explained nor a file."""
    near = difflib.get_close_matches(text.lower(), [*TEXTS, *SAME], n=1)
    hint = f" Did you mean {SAME.get(near[0], near[0])}?" if near else ""
    shown = text if len(text) <= 60 else f"{text[:60]}…"
    return QuestionError(f"'{shown}' is neither a file nor a word explained here.{hint} Words: {', '.join(listed())}.")
