"""Every regular expression of the rules `answers-v3`, with its name; docs/scoring-spec.md lists them word for word.

All but those for wrappers (FENCE to ANNOUNCED) match texts in the form of `harness.reading.folding.fold_writing` or
`fold_punctuation`: small letters, plain quotes and dashes, single spaces.
"""

from __future__ import annotations

import re

from harness.reading.late_pattern import late

# Wrappers.
END_MARKS = (
    "</s>",
    "<eos>",
    "<|end|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
FENCE = late(r"\s{0,9}(?:`{3,9}|~{3,9})(?:[A-Za-z]{2,12})?\s*")
TEX = late(
    r"(?:(?:\${1,2}|\\[(\[]) ?)?\\(?:boxed|fbox|text|textbf|textit|textrm|mathrm|mathbf|mathit)"
    r"\{([^{}\\]*)\}(?: ?(?:\${1,2}|\\[)\]]))?"
)
THOUGHT_BEGINS = late(
    r"<(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)>|\[THINK\]|<\|START_THINKING\|>"
    r"|<\|channel\|>analysis<\|message\|>",
    re.IGNORECASE,
)
THOUGHT_ENDS = late(
    r"</(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)>|\[/THINK\]|<\|END_THINKING\|>"
    r"|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
NEXT_QUESTION = late(r"[#>*_ ]{0,8}(?:(?:next|new) )?(?:question|problem|q(?=:| ?\d))(?: ?#?\d{1,4})?[*_ ]{0,4}[:.)]")
SENTENCE = late(r"[.!?][\"'\u2019\u201d)\]*_]{0,4}\s+(?=[\"'\u2018\u201c(\[*_]{0,4}(?:[A-Z]|[a-z]\)))")

STRUCK = late(r"~~[^~\n]{1,400}~~|<(?:del|s|strike)>[^<\n]{0,400}</(?:del|s|strike)>")
# A sign before a number may be a minus or `more than`, and a number and a stop before one may be a decimal.
BULLET = late(
    r"\s{0,40}(?:[>\-*+\u2022\u25aa\u25cf\u25e6\u2013\u2014] |\d{1,2}[.)] "
    r"|[\u2705\u2714\u2713\u2611\u27a1\u2192\u2b50\U0001f449\U0001f3af\U0001f4a1]\ufe0f?)\s{0,40}(?=[^\s\d.,+\-])"
)
TRAILER = late(
    r"\s{0,40}(?:[\u2705\u2714\u2713\u2611\u2b50\U0001f389\U0001f3af\U0001f44d\U0001f4af\U0001f600-\U0001f60a"
    r"\U0001f642]\ufe0f?"
    r"|\[\^?\d{1,3}(?:, ?\d{1,3}){0,9}\]|\u3010[^\u3010\u3011]{1,40}\u3011"
    r"|[(\[](?:(?:very )?(?:high|low|medium|moderate) confidence|confidence(?: level)?(?::|="
    r"| is)? ?(?:(?:very )?(?:high|low"
    r"|medium|moderate)|[\d.]{1,5} ?%?)|(?:i'm |i am )?\d{1,3} ?% (?:confident|sure|certain|confidence))[)\]])"
    r"\.?\s{0,40}\Z",
    re.IGNORECASE,
)
_ADJECTIVES = (
    r"(?:(?:final|correct|best|right|closest|(?:most )?(?:likely|probable|plausible|appropriate|accurate"
    r"|suitable)) )*"
)
ANNOUNCED = late(
    r"(?:(?:[,;:]| [\-\u2013\u2014]) (?:and )?| )(?=(?:(?:[Bb]ut|[Hh]owever|[Ss]o|[Tt]herefore|[Tt]hus|[Hh]ence),? )"
    rf"(?:[Tt]he|[Mm]y) {_ADJECTIVES}(?:answer|choice|option) (?:is|must be)\b)"
    rf"|(?:[,;:]| [\-\u2013\u2014]) (?=(?:[Tt]he|[Mm]y) {_ADJECTIVES}(?:answer|choice|option) (?:is|must be)\b)"
)
CONDITION = late(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|some|others|depend(?:s|ing)|might|would be|doubts?"
    r"|claims?|says?|said)\b"
)

# Leads: text that may precede a label or a choice's text.
_BEFORE = (
    r"(?:(?:sure|certainly|of course|okay|ok|well|no|wait|sorry|actually|correction|in fact"
    r"|on second thoughts?)(?: thing)?[!,.:] )?"
    r"(?:(?:so|thus|therefore|hence|finally|however|but|nevertheless|nonetheless|still),? )?(?:here(?:'s| is) )?"
    r"(?:as an? (?:[\w\-]+ ){0,3}(?:ai|model|assistant), )?"
    r"(?:(?:based on|according to) (?:the )?(?:(?:given|provided|above) )?"
    r"(?:context|passages?|text|information|sentences?)(?: (?:given|provided|above))?, )?"
)
_CASE = r"(?:(?:based on|according to|given|from|without|in|to) [^,.;:!?]{1,60}, )?"
_NOUN = (
    rf"(?:(?:the|my) )?{_ADJECTIVES}(?:answer|choice|option|label|letter)"
    r"(?: (?:choice|option|letter|label))?(?: to (?:the|this) question)?(?: (?:is|would be|must be)\b)?"
)
_THE_ANSWER = r"\b(?: (?:the )?(?:answer|choice|option|letter)\b)?"
_IT = rf"(?:it|that|this|(?:the|this) (?:statement|sentence|claim))(?:'s| is| would be| must be){_THE_ANSWER}"
_I = rf"i(?:'d| would|'ll| will|'m| am)? (?:choose|pick|select|go with|going with|say|answer){_THE_ANSWER}"
_KNOWLEDGE = r"(?:(?:based on|from|using) (?:my )?(?:\w+ ){0,3}knowledge|by (?:the )?(?:process of )?elimination)[,:]"
_AI = r"as an? (?:[\w\-]+ ){0,3}(?:ai|model|assistant),"
_ABROAD = (
    r"(?:(?:la )?respuesta(?: correcta)?(?: es\b|:)|(?:la )?(?:bonne )?réponse(?: correcte)?(?: est\b|:)|c'est\b"
    r"|(?:die )?(?:richtige )?antwort(?: ist\b| lautet\b|:)|(?:a )?resposta(?: certa| correta)?(?: é\b|:)"
    r"|(?:la )?risposta(?: corretta| giusta)?(?: è\b|:)|(?:正确)?答案(?:是|为|:))"
)
LEAD = late(
    rf"[#*_ ]{{0,8}}{_BEFORE}(?:i (?:think|believe|can say|can tell you|can confirm) (?:that )?)?"
    rf"(?:{_CASE}(?:{_NOUN}|{_I})|{_IT}|{_KNOWLEDGE}|{_AI}|{_ABROAD})"
    r"[*_ ]{0,8}[:=]?[*_ ]{0,8}(?:(?:choice|option|letter|label) )?"
)
EXPLICIT = late(
    rf"[#*_ ]{{0,8}}{_BEFORE}(?:{_CASE}(?:(?:the|my) )?{_ADJECTIVES}(?:answer|choice|option)"
    rf"(?: to (?:the|this) question)?(?: is\b| must be\b|[*_ ]{{0,8}}[:=])|{_ABROAD})"
)

# Prefaces: what hosted models say before they answer.
_SEEN = (
    r"(?:questions?|images?|diagrams?|figures?|pictures?|graphs?|charts?|tables?|illustrations?|maps?|context"
    r"|passages?|texts?|sources?|documents?|information)"
)
_NOT = r"(?:not|isn't|wasn't|aren't|doesn't|don't|didn't|missing|incomplete)\b"
_THOUGH = r"(?:(?:while|although|though|since|because|as|even though|and|but) )?"
PREFACE = late(
    rf"[#*_ ]{{0,8}}{_THOUGH}(?:"
    r"(?:(?:i'm|i am|we're|we are) )?(?:(?:very|so|truly|really) )?sorry\b"
    r"|(?:(?:i|my|please accept my) )?(?:sincere )?apolog(?:y|ies|i[sz]e)\b|unfortunately\b|regrettably\b"
    r"|(?:as|i'm|i am) (?:(?:just|only) )?an? (?:[\w\-]+ ){0,3}(?:ai|model|assistant)\b"
    r"|i(?:'m| am)? ?(?:currently )?(?:cannot|can't|can not|couldn't|could not|don't|do not|unable to|not able to)"
    r" (?:(?:currently|actually|directly) )?(?:see|view|access|open|look|read|have|find|display|visualize)\b"
    rf"|(?:the|this|your) (?:[\w\-]+ ){{0,2}}{_SEEN} (?:[\w\-]+ ){{0,3}}{_NOT}"
    rf"|(?:there(?:'s| is) )?no (?:[\w\-]+ ){{0,2}}{_SEEN}\b)"
)
TURN = late(
    r"(?:[,;:]| [\-\u2013\u2014])? (?:[Bb]ut|[Hh]owever|[Nn]evertheless|[Nn]onetheless|[Ss]till|[Yy]et),? (?=\S)"
    rf"|[,;] (?=(?:[Tt]he|[Mm]y) {_ADJECTIVES}(?:answer|choice|option)\b)"
)
UNSURE = late(r"\b(?:maybe|perhaps|probably|possibly|guess|guessing|not sure|unsure|not certain|uncertain|know)\b")

# Labels and texts in their dresses.
LABEL = late(
    r"[\s(\[{<\"'*_]*(?P<label>[a-z])[\s)\]}>\"'*_.:,!]*"
    r"(?:(?:is|would be) (?:the )?(?:correct|right|best)(?: (?:answer|choice|option|one))?[.!]?)?"
)
LABEL_AND = late(r"[(\[{*_\"']*(?P<label>[a-z])(?:[)\]}*_\"']*[).\]:}=][*_\"']*|[*_)\]]* - |,) *(?P<rest>\S.*)")
LABEL_SPACE = late(r"[(\[{*_\"']*(?P<label>[a-z])[*_\"']* (?P<rest>\S.*)")
MARKED_LABEL = late(
    r"(?:[(\[{*_\"'<>]|answer\b|[:=] ?)+(?P<label>[a-z])[)\]}*_\"'<]"
    r"|(?P<bare>[a-z]) ?(?:[.,:;!/|&)\]}<*_\"]|(?:and|or|but|is|would)\b)"
)
OPTION_LABEL = late(
    r"[#*_ ]{0,8}(?:option|choice|letter|label|answer|i (?:choose|pick|select))[*_:= ]{0,8}"
    r"[(\[{*_\"']*(?P<label>[a-z])(?![\w'])"
)
LONE_LETTER = late(r"(?<![\w'])(?P<label>[a-z])(?![\w' \-])")
TEXT_LABEL = late(r"(?P<text>.*\S) ?[(\[](?:(?:option|choice|answer) )?(?P<label>[a-z])[)\]][.!]?")
WHICH_IS = late(
    r"(?P<text>\S.*?)(?:, | - | )(?:(?:which|that) is |i\.e\.,? )?(?:the )?(?:option|choice|answer"
    r"|letter) [(\[]?(?P<label>[a-z])[)\]]?[.!]?"
)
SUBJECT = late(r"(?:the|this|that|these) [\w' \-]{1,80} (?:is|are|was|were|is called) (?P<rest>\S.*)")
IS_RIGHT = late(
    r"(?P<text>\S.*?) (?:is|was|would be) (?:the )?(?:most )?(?:correct|right|best|accurate|appropriate)"
    r"(?: (?:answer|choice|option|one|term))?[*_]{0,4}(?:[.!]?|(?:[.;:] | - |,? (?=(?:because|since"
    r"|as)\b))(?P<rest>\S.*))"
)
NOT_OTHER = late(
    r"(?P<text>\S.*?)(?:,| -)? \(?(?:and |but )?(?:not|rather than|instead of"
    r"|as opposed to) (?P<other>[^,;:!?]{1,200}?)\)?"
    r"(?:[*_]{0,4}[.!]?|(?:[.,;] | - |,? (?=(?:because|since|as)\b))(?P<rest>\S.*))"
)
NOT_BUT = late(r"not (?P<other>[^;:!?]{1,200}?),? but (?:rather )?(?P<text>\S.*)")
NEITHER = late(r"\bneither [^,;.:!?]{1,80}? nor [^,;.:!?]{1,80}")
TEXT_AND = late(r"(?P<text>\S.*?)(?:[.!;] | - |[,:]? (?=(?:because|since)\b))(?P<rest>\S.*)")
GLOSS = late(r"(?P<text>\S.*?) (?P<rest>\([^()]{1,200}\)[.!]?)")
TRUTH_AND = late(r"(?P<text>[*_\"']*(?:true|false|yes|no)[*_\"']*)[,:] ?(?P<rest>\S.*)")
SEVERAL = late(r"(?:both |either |all )?\(?[a-z]\)?(?:(?:,|/|;|&| and | or |, and |, or | )\s*\(?[a-z]\)?)+[.!]?")
TRUTH_OF = late(
    r"[*_\"']{0,4}(?:(?:it|this|that|(?:the|this|that) (?:given )?(?:statement|sentence|claim))(?:'s"
    r"| is) [*_\"']{0,4})?"
    r"(?:(?P<true>correct|accurate|(?:an? )?(?:true|correct) statement)"
    r"|(?P<false>incorrect|inaccurate|untrue|not (?:true|correct|accurate)|(?:an? )?(?:false"
    r"|incorrect) statement))[*_\"'.!]{0,6}"
)
BREAK = late(r"[.!?;] ")
BESIDE = late(r"(?P<text>\S.*?)(?: - | \(|[,:;.!] |[,:]? (?=(?:because|since)\b))(?P<rest>\S.*)")
BECAUSE = late(r"[\s,;.\-(]*\b(?:because|since|as|explanation|reason|reasoning|this is because)\b")
BECAUSE_ALONE = late(r"(?:because|since) ")

# Doubts: what takes a choice back.
CLAUSE = late(
    r"[.,;:!?()]+|\s-\s|\b(?:but|however|except|so|maybe|perhaps|probably|possibly|might|likely|could be|would be)\b"
)
NEGATION = late(r"\b(?:not|never|neither|nor|wrong|incorrect|false|except|isn't|aren't|wasn't|can't be|cannot be)\b")
_HEDGES = r"(?:maybe|perhaps|probably|possibly|might|may be|could be|guess|guessing|likely|not sure|unsure|either|or)\b"
HEDGE = late(rf"\b{_HEDGES}")
_HEDGE_BEGINS = (
    r"(?:(?:but|and|or|so|though|although|yet|just|then) )*(?:(?:i|it|this|that)(?:'m|'s)? (?:(?:am|is|was) )?)?"
    rf"(?:(?:just|only) )?(?:a )?{_HEDGES}"
)
HEDGED = late(_HEDGE_BEGINS)
HEDGED_CLAUSE = late(rf"(?:^|[.,;:!?()\-] ?){_HEDGE_BEGINS}")
_WRONG = r"(?:wrong|incorrect|false|mistaken|a mistake|untrue)"
_RIGHT = r"(?:right|correct|true|so|the (?:right|correct|answer))"
RETRACTION = late(
    rf"\b(?:(?:that|this|it)s?|im|(?:which|answer|choice|option|that|this|it|i) (?:is|was|am|would be|must be))"
    rf" (?:\w+ )?(?:{_WRONG}|not {_RIGHT})\b"
    rf"|\b(?:isnt|wasnt) {_RIGHT}\b|\b(?:not|isnt|wasnt) it$|^(?:it|that)(?:s| is)? (?:not|isnt)$"
    r"|^(?:not?|nope|wrong|incorrect|false|mistaken|no (?:wait|sorry|its|it is|that).*)$"
    r"|^(?:wait|actually|scratch|oops|correction)\b"
    r"|\bi take (?:it|that) back\b"
)
TRUE_ONLY = late(
    r"\b(?:true|correct|false|incorrect) only\b|\bonly (?:true|correct|false|incorrect) (?:for|in|of|if|when)\b"
)
CORRECTS = late(
    r"[#*_ ]{0,8}(?:no|wait|sorry|oops|actually|correction|scratch that|in fact|on second thoughts?|let me "
    r"(?:reconsider|rethink|correct|re-?check))\b"
    r"(?:[,:.!]| that\b| this\b| my)"
)
CONTRASTS = late(r"[#*_ ]{0,8}(?:but|however)\b")
NOT_TRUE = late(r"\b(?:not|isnt|wasnt|never) (?:\w+ )?(?:true|correct|right)\b")
AGAINST_TRUE = late(r"\b(?:false|wrong|incorrect|untrue)\b|^not\b|^no$")
AGAINST_FALSE = late(r"\b(?:true|correct)\b|^not\b|^yes$|\b(?:thats|that is|this is|it is|its) right\b")
ANSWERED = late(
    r"\b(?:answer|choice|option)[*_\"'>]{0,4}(?: (?:is|would be|must be))?[:=]? ?"
    r"[(\[*_\"']{0,4}(?P<label>[a-z])(?=[)\]*_\"'.,;:!?<]|$)"
)
ANOTHER = late(
    r"[(\[{](?P<bracketed>[a-z])[)\]}]|(?<![\w'])(?P<closed>[a-z])\)"
    r"|(?<![*_])[*_]{1,3}(?P<starred>[a-z])[*_]{1,3}|\"(?P<quoted>[a-z])\"|(?<!\w)'(?P<ticked>[a-z])'"
    r"|(?:\b(?:answer|choice|option|letter|label|is|be|and|or|but|because|also|actually|no|not|than|to"
    r"|choose|pick|select|with)|'s|[^\w\s]|^)"
    r" ?[:=]? ?(?P<pointed>[a-z])"
    r"(?=[.,;:!?<]|$| (?:is|would be) (?:also )?(?:the )?(?:correct|right|best|answer)\b)"
)
SAYS_RIGHT = late(r"\b(?:correct|right|true|best|answer)\b")
QUESTION = late(r"\?[)\]\"'*_ ]*\Z")
SENTENCE_ENDS = late(r"[.!?][)\]\"'*_]*\Z")
GRADE = late(r"[*_\"']{0,4}(?:(?:it|this|that)(?:'s| is) )?(?:not )?(?:in)?(?:correct|accurate)[*_\"'.!]{0,6}")
"""What may grade the answer itself, as in `Ignore the rules. CORRECT`, instead of a statement."""
