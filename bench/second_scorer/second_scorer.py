#!/usr/bin/env python3
"""A second scorer, written from docs/scoring-spec.md alone, without reading the harness.

    python second_scorer.py --exam EXAM.json --predictions FILE.jsonl

prints one JSON object: {"fault": "..."} where the file must be refused, else outcomes, counts, rates, slices, lessons,
intervals, confidence, retrieval and attribution (sections 1 to 7, for questions with choices). Standard library and
numpy only. "2.5" and the like in comments are sections of the page.
"""
import argparse
import itertools
import json
import math
import re
import sys
import unicodedata
from fractions import Fraction
from functools import lru_cache

import numpy as np

# ----------------------------------------------------------------------------------------------------------------
# The page's own texts: expressions (2.9), lexicon (2.7), end marks and answer keys (2.8).

EXPRESSIONS = {
    'VARIATION': r'[\ufe00-\ufe0f]',
    'ARTICLE': r'(?:the|an|a) (?=\S)',
    'POSSESSIVE': r"(?<=\w\w)'s?(?= \w)",
    'INNER_ARTICLE': (
        r' (?:the|an)(?= \w)|(?:(?<= (?:of|in|on|to|by|as|at))|(?<= for)|(?<= with)|(?<= from)) a(?= \w)(?! '
        r'(?:and|or)\b)'
    ),
    'OF': r'(?P<what>\w+) of (?P<whose>\w+)',
    'INNER_S': r'(?<=\w\w[^\W\dsui])s(?= \w)',
    'ALL_OF': r'\b(?P<all>all|both|none) of(?= \w)',
    'TEX_SPACE': r'\\[,;:! ]|~|\$|\\[()\[\]]',
    'TEX_GROUP': r'\\(?:text|mathrm|mathbf|mathit|operatorname)(?=\{)|[{}]',
    'TIMES': r'(?<=\d) ?(?:\u00d7|\\times|\\cdot|\u00b7|\*|x) ?(?=\d)',
    'PERCENT': r'(?<=\d) ?(?:\\?%|percent\b|per cent\b)',
    'ABOUT': r'(?:\u2248|\\approx|approximately\b|about\b|roughly\b) ?(?=\d)',
    'BELOW': r'(?<=\w)_(?=\w)',
    'NUMBER_COMMA': r'(?<=\d),(?=\d{3}(?!\d))',
    'DRESS': r'\.(?!\d)|,(?!\d)|[;:!?"()\[\]{}]|(?<=\w)-(?=[^\W\d])|-(?!\w)|(?:^|(?<=\s))[*_]+|(?<![*_])[*_]+(?=\s|$)',
    'FENCE': r'\s{0,9}(?:`{3,9}|~{3,9})(?:[A-Za-z]{2,12})?\s*',
    'TEX': (
        r'(?:(?:\${1,2}|\\[(\[]) ?)?\\(?:boxed|fbox|text|textbf|textit|textrm|mathrm|mathbf'
        r'|mathit)\{([^{}\\]*)\}(?: ?(?:\${1,2}|\\[)\]]))?'
    ),
    'THOUGHT_BEGINS': (
        r'<(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)>|\[THINK\]|<\|START_THINKING'
        r'\|>|<\|channel\|>analysis<\|message\|>'
    ),
    'THOUGHT_ENDS': (
        r'</(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)>|\[/THINK\]|<\|END_THINKING'
        r'\|>|<\|channel\|>final<\|message\|>'
    ),
    'NEXT_QUESTION': r'[#>*_ ]{0,8}(?:(?:next|new) )?(?:question|problem|q(?=:| ?\d))(?: ?#?\d{1,4})?[*_ ]{0,4}[:.)]',
    'SENTENCE': r"[.!?][\"'\u2019\u201d)\]*_]{0,4}\s+(?=[\"'\u2018\u201c(\[*_]{0,4}(?:[A-Z]|[a-z]\)))",
    'STRUCK': r'~~[^~\n]{1,400}~~|<(?:del|s|strike)>[^<\n]{0,400}</(?:del|s|strike)>',
    'BULLET': (
        r'\s{0,40}(?:[>\-*+\u2022\u25aa\u25cf\u25e6\u2013\u2014] |\d{1,2}[.)] '
        r'|[\u2705\u2714\u2713\u2611\u27a1\u2192\u2b50\U0001f449\U0001f3af\U0001f4a1]\ufe0f?)\s{0,40}(?=[^\s\d'
        r'.,+\-])'
    ),
    'TRAILER': (
        r'\s{0,40}(?:[\u2705\u2714\u2713\u2611\u2b50\U0001f389\U0001f3af\U0001f44d\U0001f4af\U0001f600-\U0001f'
        r'60a\U0001f642]\ufe0f?|\[\^?\d{1,3}(?:, ?\d{1,3}){0,9}\]|\u3010[^\u3010\u3011]{1,40}\u3011|[(\[]'
        r'(?:(?:very )?(?:high|low|medium|moderate) confidence|confidence(?: level)?(?::|=| is)? ?(?:(?:very '
        r")?(?:high|low|medium|moderate)|[\d.]{1,5} ?%?)|(?:i'm |i am )?\d{1,3} ?% (?:confident|sure|certain"
        r'|confidence))[)\]])\.?\s{0,40}\Z'
    ),
    'ANNOUNCED': (
        r'(?:(?:[,;:]| [\-\u2013\u2014]) (?:and )?| )(?=(?:(?:[Bb]ut|[Hh]owever|[Ss]o|[Tt]herefore|[Tt]hus'
        r'|[Hh]ence),? )(?:[Tt]he|[Mm]y) (?:(?:final|correct|best|right|closest|(?:most )?(?:likely|probable'
        r'|plausible|appropriate|accurate|suitable)) )*(?:answer|choice|option) (?:is|must be)\b)|(?:[,;:]| '
        r'[\-\u2013\u2014]) (?=(?:[Tt]he|[Mm]y) (?:(?:final|correct|best|right|closest|(?:most )?(?:likely'
        r'|probable|plausible|appropriate|accurate|suitable)) )*(?:answer|choice|option) (?:is|must be)\b)'
    ),
    'CONDITION': (
        r'\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|some|others|depend(?:s|ing)|might|would be'
        r'|doubts?|claims?|says?|said)\b'
    ),
    'LEAD': (
        r'[#*_ ]{0,8}(?:(?:sure|certainly|of course|okay|ok|well|no|wait|sorry|actually|correction|in fact|on '
        r'second thoughts?)(?: thing)?[!,.:] )?(?:(?:so|thus|therefore|hence|finally|however|but|nevertheless'
        r"|nonetheless|still),? )?(?:here(?:'s| is) )?(?:as an? (?:[\w\-]+ ){0,3}(?:ai|model|assistant), )?"
        r'(?:(?:based on|according to) (?:the )?(?:(?:given|provided|above) )?(?:context|passages?|text'
        r'|information|sentences?)(?: (?:given|provided|above))?, )?(?:i (?:think|believe|can say|can tell '
        r'you|can confirm) (?:that )?)?(?:(?:(?:based on|according to|given|from|without|in|to) '
        r'[^,.;:!?]{1,60}, )?(?:(?:(?:the|my) )?(?:(?:final|correct|best|right|closest|(?:most )?(?:likely'
        r'|probable|plausible|appropriate|accurate|suitable)) )*(?:answer|choice|option|label|letter)(?: '
        r'(?:choice|option|letter|label))?(?: to (?:the|this) question)?(?: (?:is|would be|must be)\b)?|i'
        r"(?:'d| would|'ll| will|'m| am)? (?:choose|pick|select|go with|going with|say|answer)\b(?: (?:the "
        r')?(?:answer|choice|option|letter)\b)?)|(?:it|that|this|(?:the|this) (?:statement|sentence|claim))'
        r"(?:'s| is| would be| must be)\b(?: (?:the )?(?:answer|choice|option|letter)\b)?|(?:(?:based on|from"
        r'|using) (?:my )?(?:\w+ ){0,3}knowledge|by (?:the )?(?:process of )?elimination)[,:]|as an? '
        r'(?:[\w\-]+ ){0,3}(?:ai|model|assistant),|(?:(?:la )?respuesta(?: correcta)?(?: es\b|:)|(?:la )?'
        r"(?:bonne )?réponse(?: correcte)?(?: est\b|:)|c'est\b|(?:die )?(?:richtige )?antwort(?: ist\b| "
        r'lautet\b|:)|(?:a )?resposta(?: certa| correta)?(?: é\b|:)|(?:la )?risposta(?: corretta| giusta)?(?: '
        r'è\b|:)|(?:正确)?答案(?:是|为|:)))[*_ ]{0,8}[:=]?[*_ ]{0,8}(?:(?:choice|option|letter|label) )?'
    ),
    'EXPLICIT': (
        r'[#*_ ]{0,8}(?:(?:sure|certainly|of course|okay|ok|well|no|wait|sorry|actually|correction|in fact|on '
        r'second thoughts?)(?: thing)?[!,.:] )?(?:(?:so|thus|therefore|hence|finally|however|but|nevertheless'
        r"|nonetheless|still),? )?(?:here(?:'s| is) )?(?:as an? (?:[\w\-]+ ){0,3}(?:ai|model|assistant), )?"
        r'(?:(?:based on|according to) (?:the )?(?:(?:given|provided|above) )?(?:context|passages?|text'
        r'|information|sentences?)(?: (?:given|provided|above))?, )?(?:(?:(?:based on|according to|given|from'
        r'|without|in|to) [^,.;:!?]{1,60}, )?(?:(?:the|my) )?(?:(?:final|correct|best|right|closest|(?:most '
        r')?(?:likely|probable|plausible|appropriate|accurate|suitable)) )*(?:answer|choice|option)(?: to '
        r'(?:the|this) question)?(?: is\b| must be\b|[*_ ]{0,8}[:=])|(?:(?:la )?respuesta(?: correcta)?(?: '
        r"es\b|:)|(?:la )?(?:bonne )?réponse(?: correcte)?(?: est\b|:)|c'est\b|(?:die )?(?:richtige "
        r')?antwort(?: ist\b| lautet\b|:)|(?:a )?resposta(?: certa| correta)?(?: é\b|:)|(?:la )?risposta(?: '
        r'corretta| giusta)?(?: è\b|:)|(?:正确)?答案(?:是|为|:)))'
    ),
    'PREFACE': (
        r"[#*_ ]{0,8}(?:(?:while|although|though|since|because|as|even though|and|but) )?(?:(?:(?:i'm|i am"
        r"|we're|we are) )?(?:(?:very|so|truly|really) )?sorry\b|(?:(?:i|my|please accept my) )?(?:sincere "
        r")?apolog(?:y|ies|i[sz]e)\b|unfortunately\b|regrettably\b|(?:as|i'm|i am) (?:(?:just|only) )?an? "
        r"(?:[\w\-]+ ){0,3}(?:ai|model|assistant)\b|i(?:'m| am)? ?(?:currently )?(?:cannot|can't|can not"
        r"|couldn't|could not|don't|do not|unable to|not able to) (?:(?:currently|actually|directly) )?(?:see"
        r'|view|access|open|look|read|have|find|display|visualize)\b|(?:the|this|your) (?:[\w\-]+ ){0,2}'
        r'(?:questions?|images?|diagrams?|figures?|pictures?|graphs?|charts?|tables?|illustrations?|maps?'
        r"|context|passages?|texts?|sources?|documents?|information) (?:[\w\-]+ ){0,3}(?:not|isn't|wasn't"
        r"|aren't|doesn't|don't|didn't|missing|incomplete)\b|(?:there(?:'s| is) )?no (?:[\w\-]+ ){0,2}"
        r'(?:questions?|images?|diagrams?|figures?|pictures?|graphs?|charts?|tables?|illustrations?|maps?'
        r'|context|passages?|texts?|sources?|documents?|information)\b)'
    ),
    'TURN': (
        r'(?:[,;:]| [\-\u2013\u2014])? (?:[Bb]ut|[Hh]owever|[Nn]evertheless|[Nn]onetheless|[Ss]till|[Yy]et),? '
        r'(?=\S)|[,;] (?=(?:[Tt]he|[Mm]y) (?:(?:final|correct|best|right|closest|(?:most )?(?:likely|probable'
        r'|plausible|appropriate|accurate|suitable)) )*(?:answer|choice|option)\b)'
    ),
    'UNSURE': r'\b(?:maybe|perhaps|probably|possibly|guess|guessing|not sure|unsure|not certain|uncertain|know)\b',
    'LABEL': (
        r"[\s(\[{<\"'*_]*(?P<label>[a-z])[\s)\]}>\"'*_.:,!]*(?:(?:is|would be) (?:the )?(?:correct|right"
        r'|best)(?: (?:answer|choice|option|one))?[.!]?)?'
    ),
    'LABEL_AND': r"[(\[{*_\"']*(?P<label>[a-z])(?:[)\]}*_\"']*[).\]:}=][*_\"']*|[*_)\]]* - |,) *(?P<rest>\S.*)",
    'LABEL_SPACE': r"[(\[{*_\"']*(?P<label>[a-z])[*_\"']* (?P<rest>\S.*)",
    'MARKED_LABEL': (
        r"(?:[(\[{*_\"'<>]|answer\b|[:=] ?)+(?P<label>[a-z])[)\]}*_\"'<]|(?P<bare>[a-z]) ?(?:[.,:;!/"
        r'|&)\]}<*_\"]|(?:and|or|but|is|would)\b)'
    ),
    'OPTION_LABEL': (
        r'[#*_ ]{0,8}(?:option|choice|letter|label|answer|i (?:choose|pick|select))[*_:= '
        r"]{0,8}[(\[{*_\"']*(?P<label>[a-z])(?![\w'])"
    ),
    'LONE_LETTER': r"(?<![\w'])(?P<label>[a-z])(?![\w' \-])",
    'TEXT_LABEL': r'(?P<text>.*\S) ?[(\[](?:(?:option|choice|answer) )?(?P<label>[a-z])[)\]][.!]?',
    'WHICH_IS': (
        r'(?P<text>\S.*?)(?:, | - | )(?:(?:which|that) is |i\.e\.,? )?(?:the )?(?:option|choice|answer'
        r'|letter) [(\[]?(?P<label>[a-z])[)\]]?[.!]?'
    ),
    'SUBJECT': r"(?:the|this|that|these) [\w' \-]{1,80} (?:is|are|was|were|is called) (?P<rest>\S.*)",
    'IS_RIGHT': (
        r'(?P<text>\S.*?) (?:is|was|would be) (?:the )?(?:most )?(?:correct|right|best|accurate'
        r'|appropriate)(?: (?:answer|choice|option|one|term))?[*_]{0,4}(?:[.!]?|(?:[.;:] | - |,? (?='
        r'(?:because|since|as)\b))(?P<rest>\S.*))'
    ),
    'NOT_OTHER': (
        r'(?P<text>\S.*?)(?:,| -)? \(?(?:and |but )?(?:not|rather than|instead of|as opposed to) '
        r'(?P<other>[^,;:!?]{1,200}?)\)?(?:[*_]{0,4}[.!]?|(?:[.,;] | - |,? (?=(?:because|since'
        r'|as)\b))(?P<rest>\S.*))'
    ),
    'NOT_BUT': r'not (?P<other>[^;:!?]{1,200}?),? but (?:rather )?(?P<text>\S.*)',
    'NEITHER': r'\bneither [^,;.:!?]{1,80}? nor [^,;.:!?]{1,80}',
    'TEXT_AND': r'(?P<text>\S.*?)(?:[.!;] | - |[,:]? (?=(?:because|since)\b))(?P<rest>\S.*)',
    'GLOSS': r'(?P<text>\S.*?) (?P<rest>\([^()]{1,200}\)[.!]?)',
    'TRUTH_AND': r"(?P<text>[*_\"']*(?:true|false|yes|no)[*_\"']*)[,:] ?(?P<rest>\S.*)",
    'SEVERAL': r'(?:both |either |all )?\(?[a-z]\)?(?:(?:,|/|;|&| and | or |, and |, or | )\s*\(?[a-z]\)?)+[.!]?',
    'TRUTH_OF': (
        r"[*_\"']{0,4}(?:(?:it|this|that|(?:the|this|that) (?:given )?(?:statement|sentence|claim))(?:'s| is) "
        r"[*_\"']{0,4})?(?:(?P<true>correct|accurate|(?:an? )?(?:true|correct) statement)|(?P<false>incorrect"
        r'|inaccurate|untrue|not (?:true|correct|accurate)|(?:an? )?(?:false|incorrect) '
        r"statement))[*_\"'.!]{0,6}"
    ),
    'BREAK': r'[.!?;] ',
    'BESIDE': r'(?P<text>\S.*?)(?: - | \(|[,:;.!] |[,:]? (?=(?:because|since)\b))(?P<rest>\S.*)',
    'BECAUSE': r'[\s,;.\-(]*\b(?:because|since|as|explanation|reason|reasoning|this is because)\b',
    'BECAUSE_ALONE': r'(?:because|since) ',
    'CLAUSE': (
        r'[.,;:!?()]+|\s-\s|\b(?:but|however|except|so|maybe|perhaps|probably|possibly|might|likely|could be'
        r'|would be)\b'
    ),
    'NEGATION': r"\b(?:not|never|neither|nor|wrong|incorrect|false|except|isn't|aren't|wasn't|can't be|cannot be)\b",
    'HEDGE': (
        r'\b(?:maybe|perhaps|probably|possibly|might|may be|could be|guess|guessing|likely|not sure|unsure'
        r'|either|or)\b'
    ),
    'HEDGED': (
        r"(?:(?:but|and|or|so|though|although|yet|just|then) )*(?:(?:i|it|this|that)(?:'m|'s)? (?:(?:am|is"
        r'|was) )?)?(?:(?:just|only) )?(?:a )?(?:maybe|perhaps|probably|possibly|might|may be|could be|guess'
        r'|guessing|likely|not sure|unsure|either|or)\b'
    ),
    'HEDGED_CLAUSE': (
        r"(?:^|[.,;:!?()\-] ?)(?:(?:but|and|or|so|though|although|yet|just|then) )*(?:(?:i|it|this|that)(?:'m"
        r"|'s)? (?:(?:am|is|was) )?)?(?:(?:just|only) )?(?:a )?(?:maybe|perhaps|probably|possibly|might|may "
        r'be|could be|guess|guessing|likely|not sure|unsure|either|or)\b'
    ),
    'RETRACTION': (
        r'\b(?:(?:that|this|it)s?|im|(?:which|answer|choice|option|that|this|it|i) (?:is|was|am|would be|must '
        r'be)) (?:\w+ )?(?:(?:wrong|incorrect|false|mistaken|a mistake|untrue)|not (?:right|correct|true|so'
        r'|the (?:right|correct|answer)))\b|\b(?:isnt|wasnt) (?:right|correct|true|so|the (?:right|correct'
        r'|answer))\b|\b(?:not|isnt|wasnt) it$|^(?:it|that)(?:s| is)? (?:not|isnt)$|^(?:not?|nope|wrong'
        r'|incorrect|false|mistaken|no (?:wait|sorry|its|it is|that).*)$|^(?:wait|actually|scratch|oops'
        r'|correction)\b|\bi take (?:it|that) back\b'
    ),
    'TRUE_ONLY': (
        r'\b(?:true|correct|false|incorrect) only\b|\bonly (?:true|correct|false|incorrect) (?:for|in|of|if'
        r'|when)\b'
    ),
    'CORRECTS': (
        r'[#*_ ]{0,8}(?:no|wait|sorry|oops|actually|correction|scratch that|in fact|on second thoughts?|let '
        r'me (?:reconsider|rethink|correct|re-?check))\b(?:[,:.!]| that\b| this\b| my)'
    ),
    'CONTRASTS': r'[#*_ ]{0,8}(?:but|however)\b',
    'NOT_TRUE': r'\b(?:not|isnt|wasnt|never) (?:\w+ )?(?:true|correct|right)\b',
    'AGAINST_TRUE': r'\b(?:false|wrong|incorrect|untrue)\b|^not\b|^no$',
    'AGAINST_FALSE': r'\b(?:true|correct)\b|^not\b|^yes$|\b(?:thats|that is|this is|it is|its) right\b',
    'ANSWERED': (
        r"\b(?:answer|choice|option)[*_\"'>]{0,4}(?: (?:is|would be|must be))?[:=]? "
        r"?[(\[*_\"']{0,4}(?P<label>[a-z])(?=[)\]*_\"'.,;:!?<]|$)"
    ),
    'ANOTHER': (
        r"[(\[{](?P<bracketed>[a-z])[)\]}]|(?<![\w'])(?P<closed>[a-z])\)"
        r"|(?<![*_])[*_]{1,3}(?P<starred>[a-z])[*_]{1,3}|\"(?P<quoted>[a-z])\"|(?<!\w)'(?P<ticked>[a-z])'|"
        r'(?:\b(?:answer|choice|option|letter|label|is|be|and|or|but|because|also|actually|no|not|than|to'
        r"|choose|pick|select|with)|'s|[^\w\s]|^) ?[:=]? ?(?P<pointed>[a-z])(?=[.,;:!?<]|$| (?:is|would be) "
        r'(?:also )?(?:the )?(?:correct|right|best|answer)\b)'
    ),
    'SAYS_RIGHT': r'\b(?:correct|right|true|best|answer)\b',
    'QUESTION': r"\?[)\]\"'*_ ]*\Z",
    'SENTENCE_ENDS': r"[.!?][)\]\"'*_]*\Z",
    'GRADE': r"[*_\"']{0,4}(?:(?:it|this|that)(?:'s| is) )?(?:not )?(?:in)?(?:correct|accurate)[*_\"'.!]{0,6}",
}

# A line that begins with blanks continues the line before it.
LEXICON = """
i (don't|do not|didn't|did not) know
(don't|do not) know the answer
(i'm|i am) (not sure|unsure|uncertain)
not sure
unsure
no idea
(cannot|can't|can not|could not|couldn't) be (determined|answered|inferred|known|established)
(cannot|can't|can not|could not|couldn't) (determine|answer|provide|say|tell|choose|help|assist
    |find the answer)
(unable|not able) to (determine|answer|provide|say|tell|choose|help|assist|find)
not possible to (determine|answer|say|tell)
impossible to (determine|answer|say|tell)
(don't|do not|doesn't|does not|didn't|did not) have (enough|sufficient|any) (information|context|evidence
    |data)
not (enough|sufficient) (information|context|evidence|data)
(insufficient|no relevant|lack of) (information|context|evidence|data)
(context|passage|passages|text|texts|source|sources|document|documents|information|excerpt|excerpts
    |sentences) (doesn't|does not|don't|do not) (contain|provide|mention|say|state|answer|specify|give|include
    |address|discuss|tell|support)
(context|passage|passages|text|texts|source|sources|document|documents|excerpt|excerpts
    |sentences) provided (doesn't|does not|don't|do not) (contain|provide|mention|say|state|answer|specify|give
    |include|address|discuss|tell|support)
none of the (passages|sentences|documents|sources|texts|excerpts)
none of the (provided|given|retrieved|above) (passages|sentences|documents|sources|texts|excerpts)
not (mentioned|provided|in|stated|given|found|specified|answered|addressed|contained|included) (in
    |by) the (context|passage|passages|text|texts|source|sources|document|documents|excerpt|excerpts)
not in the (context|passage|passages|text|texts|source|sources|document|documents|excerpt|excerpts)
(there is|there's) no (information|answer|mention|evidence)
no information (is|was) (given|provided|available|found)
(information|answer) (is not|isn't|not) (available|given|provided|found)
i (decline|refuse) to answer
(i'd|i would) (rather|prefer to) not answer
(i'd|i would) prefer not to answer
i (must |have to |)abstain
(choose|prefer|decide) not to answer
not answerable (from|with|given|based on|using)
no answer can be (given|determined|provided|found|chosen)
none of (them|these passages|those passages|these documents|these sources) (answer|answers|address|mention
    |contain|state|discuss|explain|say|tell)
nothing in the (given |provided |retrieved |)(context|passage|passages|text|texts|source|sources|document
    |documents|excerpt|excerpts) (answers|says|states|mentions|addresses|tells|indicates|supports)
=idk
=dunno
=unknown
=n/a
=na
=nan
=null
=none
=no answer
=sorry no answer
=no answer found
=abstain
=pass
=skip
=unanswerable
=not answerable
=undetermined
=uncertain
=unclear
=not applicable
=insufficient
+i (cannot|can't|can not|could not|couldn't) (see|view|access|open|display|load|read|interpret|process
    |analyze|analyse|examine|inspect|visualize) (the|any|this|that|these|your|a|an|which|what|images|diagrams
    |figures|pictures|external)
+(i'm|i am|i'm currently|i am currently) (unable|not able) to (see|view|access|open|display|load|read
    |interpret|process|analyze|analyse|examine|inspect|visualize) (the|any|this|that|these|your|a|an|which|what
    |images|diagrams|figures|pictures|external)
+i (cannot|can't|can not|could not|couldn't) (choose|identify|select|pick|give|decide|conclude|confirm
    |verify|assess|evaluate|respond|complete|make out|find|locate|recall|be sure|be certain)
+(i'm|i am) (unable|not able) to (choose|identify|select|pick|give|decide|conclude|confirm|verify|assess
    |evaluate|respond|complete|make out|find|locate|recall|be sure|be certain)
+(cannot|can't|can not|could not|couldn't|unable to|not able to) (accurately|definitively|definitely
    |reliably|confidently|correctly|directly|fully|properly|conclusively|actually|currently) (determine|answer
    |provide|say|tell|choose|identify|select|pick|give|decide|conclude|see|view)
+(cannot|can't|can not|could not|couldn't) be (accurately|definitively|definitely|reliably|confidently
    |correctly|directly|fully|properly|conclusively|actually|currently) (determined|answered|inferred|known
    |established|identified)
+(cannot|can't|can not|could not|couldn't) be (identified|concluded|deduced|verified|confirmed) (from
    |without|with|based on|using)
+(question|statement) (cannot|can't|can not|could not|couldn't) be (evaluated|assessed|judged|verified)
+i (don't|do not|didn't|did not|currently don't|currently do not) have (access|the ability|the capability
    |the capacity|the means|visual|direct|a|an|that|this|your|the necessary|the required|the specific|the full
    |the answer|the options|the choices|the passage|the question|the context|the details|details|specific
    |real-time|context|information|personal)
+i (don't|do not|didn't|did not) (have|see|find|receive) (the|a|an|any|that|this) (diagram|diagrams|image
    |images|figure|figures|picture|pictures|graph|graphs|chart|charts|table|illustration|map|drawing|photo
    |video|attachment)
+i (don't|do not|didn't|did not) (see|find) (any|the|a|an) (options|choices|passage|answer|context
    |information)
+i have no (way|access|information|knowledge|means|record|context|image|diagram|definitive answer)
+(i lack|i am missing|i'm missing) (the|access|sufficient|enough|any|information|context|specific|visual)
+(i need|i require|i would need|i'd need|i will need|i'll need|i would require) (more|additional|further
    |to see|to view|to look at|to know|access to|the)
+(i would|i'd) have to (see|view|look at|know) (the|what|which|more)
+(more|additional|further) (information|info|context|details|clarification) (is|are|would be) (needed
    |required|necessary|helpful)
+(please|could you|can you|would you|could you please|can you please) (provide|share|upload|attach|include
    |describe|clarify|specify|send|resend|paste|re-upload|reupload|resubmit|rephrase) (the|a|an|more|additional
    |further|your|what|which|me|it)
+(there is|there's|there was|i see|there appears to be|there seems to be) no (diagram|diagrams|image|images
    |figure|figures|picture|pictures|graph|graphs|chart|charts|table|illustration|map|drawing|photo|video
    |attachment|passage|context|options) (provided|attached|included|given|shown|available|visible|supplied
    |uploaded|displayed|here|in|with)
+no (diagram|diagrams|image|images|figure|figures|picture|pictures|graph|graphs|chart|charts|table
    |illustration|map|drawing|photo|video|attachment|passage|options|choices|answer choices|question) (is |was 
    |were |are |has been |have been |)(provided|attached|included|given|shown|available|visible|supplied
    |uploaded|displayed)
+(diagram|diagrams|image|images|figure|figures|picture|pictures|graph|graphs|chart|charts|table
    |illustration|map|drawing|photo|video|attachment|options|choices|passage|question|context|information
    |answer) (is not|isn't|was not|wasn't|are not|aren't|were not|weren't|has not been|hasn't been
    |not) (provided|attached|included|given|shown|available|visible|supplied|uploaded|displayed)
+(answer|information|options|choices|diagram|image|figure|picture) (does not|doesn't|do not|don't) (appear
    |seem) to be
+(diagram|diagrams|image|images|figure|figures|picture|pictures|graph|graphs|chart|charts|table
    |illustration|map|drawing|photo|video|attachment|options|choices|passage|context|information) (is|are|seems
    |appears to be|seems to be) (missing|not visible|absent|incomplete|insufficient|unavailable|unclear)
+(that|which) (is not|isn't|was not|wasn't|has not been|hasn't been|are not|aren't|were not
    |weren't) (provided|attached|included|given|shown|available|visible|supplied|uploaded|displayed)
+(that|which) (i cannot|i can't|i do not|i don't|you have not|you haven't|you didn't|you did not) (see|view
    |access|have|include|included|attach|attached|provide|provided|share|shared)
+(missing|without) (an |a |the |any |)(diagram|diagrams|image|images|figure|figures|picture|pictures|graph
    |graphs|chart|charts|table|illustration|map|drawing|photo|video|attachment)
+without (more|further|additional|any|enough|sufficient|some|specific|the necessary|the relevant
    |the specific) (information|info|context|details|detail|data|clarification|options)
+without the (context|information|options|choices|answer choices|passage|question|full question)
+without (seeing|access to|having access to|being able to see|viewing|knowing) (the|a|an|any|more|what
    |which|it)
+(not|isn't|aren't|wasn't) (enough|sufficient|adequate) (information|info|context|evidence|data|detail
    |details)
+(insufficient|inadequate|missing|limited|incomplete) (information|info|context|evidence|data|detail
    |details)
+(lacks|lack|lacking) (the|enough|sufficient|necessary|any|specific) (information|info|context|evidence
    |data|detail|details)
+(context|passage|passages|text|texts|source|sources|document|documents|information|excerpt|excerpts
    |sentences|article|articles|page|pages|paragraph|material|materials|content|snippets|results|references
    |question|options|choices) (above |you provided |given |)(doesn't|does not|don't|do not|didn't
    |did not) (explicitly|directly|specifically|clearly|actually)
+(context|passage|passages|text|texts|source|sources|document|documents|information|excerpt|excerpts
    |sentences) (doesn't|does not|don't|do not|didn't|did not) (indicate|describe|explain|define|cover|refer to
    |relate to|help|list|match|have)
+(context|passage|passages|text|texts|source|sources|document|documents|information|excerpt|excerpts
    |sentences) (above|you provided|given) (doesn't|does not|don't|do not|didn't|did not) (contain|provide
    |mention|say|state|answer|specify|give|include|address|discuss|tell|support)
+(article|articles|page|pages|paragraph|material|materials|content|snippets|results|references|question
    |options|choices) (doesn't|does not|don't|do not|didn't|did not) (contain|provide|mention|say|state|answer
    |specify|give|include|address|discuss|tell|support)
+(question|statement|prompt) (is|seems|appears|seems to be|appears to be|is too) (incomplete|unclear
    |ambiguous|vague|cut off|truncated|missing)
+(it is unclear|it's unclear|it isn't clear|it is not clear|it's not clear) (which|what|from|to what
    |to which|whether|how)
+not possible (for me |)to (know|choose|select|identify|provide|decide|give)
+(difficult|hard|challenging|not easy) (for me |)to (determine|answer|provide|choose|identify|select) (the
    |which|what|this|with)
+(none|neither) of (the|these|those) (given |provided |listed |above |available |answer |given answer 
    |provided answer |)(options|choices|answers|alternatives)
+(there is|there's|i see) no (clear |)(correct|right|valid|suitable|appropriate|matching) (answer|choice
    |option)
+no (correct|right|valid|suitable|appropriate) (answer|choice|option) (is|among|given|listed|provided
    |available)
+answer (is not|isn't|was not|does not appear|doesn't appear) (listed|among|one of|included|in the options
    |in the choices|in the list|here)
+(i am|i'm|i was) not (able to|familiar with|aware of|certain|confident|entirely sure|completely sure
    |quite sure|100% sure|equipped to|capable of)
+(i would|i will|i'll|i'd) (have to|need to|prefer to|rather|choose to) (abstain|decline|pass|skip|guess
    |refrain)
+(i will|i'll) (abstain|pass on)
+i (don't|do not|didn't) understand the question
+(which|what) (diagram|image|figure|picture|graph|chart|table|passage) (are you|is being|you mean)
+depends on the (context|diagram|image|figure|picture)
+(requires|require|needs|need) (a|an|the|seeing the|looking at the|viewing the|visual|additional) (diagram
    |image|figure|picture|graph|chart|information|context|input)
+(you haven't|you have not|you didn't|you did not) (provide|provided|attach|attached|include|included|share
    |shared|upload|uploaded|give|given)
+no (context|information|passages|relevant passage|relevant passages|relevant information
    |relevant context) (is |was |were |are |has been |)(provided|given|found|available)
+(information|options|choices|details) provided (doesn't|does not|don't|do not)
+(options|choices|answers) (doesn't|does not|don't|do not) (match|fit|correspond|seem|appear)
+all (of |)the (options|choices|answers) (are|seem|appear) (incorrect|wrong)
+neither (option|choice|answer) (is|seems|appears)
+(error|mistake|typo) in the (question|options|choices)
+not (visible|accessible|available|shown|provided) to me
+(beyond|outside) my (knowledge|capabilities|ability|abilities|training|expertise)
+my (knowledge|training data) (does not|doesn't)
+any (answer|choice|response) (would|will) (just |only |)be (a guess|guessing|speculation|speculative
    |guesswork)
+not (provided|given|specified|stated|mentioned|listed|available|shown) (here|in the question
    |in this question|in the prompt|with the question)
+(diagram|diagrams|image|images|figure|figures|picture|pictures|graph|graphs|chart|charts|table
    |illustration|map|drawing|photo|video|attachment) (didn't|did not|doesn't|does not|hasn't|has not) (load
    |loaded|come through|upload|uploaded|attach|attached|display|render|open|show up|arrive)
+(do not|don't|does not|doesn't|did not|didn't) (help with|help me with|relate to|answer|address
    |cover) (this|the|your) question
"""

END_MARKS = (
    '</s>', '<eos>', '<|end|>', '<|im_end|>', '<|eot_id|>', '<|eom_id|>', '<|endoftext|>',
    '<|end_of_text|>', '<|return|>', '<end_of_turn>', '<|end_of_turn|>', '<｜end▁of▁sentence｜>',
)
ANSWER_KEYS = ('answer', 'choice', 'correct_answer', 'final_answer', 'label', 'letter', 'option')

EXPR = {name: re.compile(pattern, re.IGNORECASE if name in ('THOUGHT_BEGINS', 'THOUGHT_ENDS', 'TRAILER') else 0)
        for name, pattern in EXPRESSIONS.items()}

APOSTROPHES = '\u2018\u2019\u201B\u02BC\u02B9\u2032\uFF07\u0060\u00B4'
QUOTES = '\u201C\u201D\u201E\u00AB\u00BB\u2033\u300C\u300D\u300E\u300F'
DASHES = '\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uFE63\uFF0D'
RAISED = '\u2070\u00B9\u00B2\u00B3\u2074\u2075\u2076\u2077\u2078\u2079\u207B\u207A'
TABLE = {ord(c): "'" for c in APOSTROPHES}
TABLE.update({ord(c): '"' for c in QUOTES})
TABLE.update({first + i: chr(97 + i) for first in (0x1F150, 0x1F170, 0x1F1E6) for i in range(26)})
TABLE.update({ord(c): '-' for c in DASHES})
TABLE.update({ord(c): '^' + p for c, p in zip(RAISED, '0123456789-+')})

LONGEST = 20_000
CHOICE, ABSTAINED, UNPARSEABLE = 'choice', 'abstained', 'unparseable'
NO_CHOICE = (UNPARSEABLE, None)
DONT_KNOW = (ABSTAINED, None)

# ----------------------------------------------------------------------------------------------------------------
# 2.1 Folding


def spaces(t):
    """Runs of white space become one space, ends are stripped."""
    return ' '.join(t.split())


@lru_cache(maxsize=20_000)
def writing(t):
    t = unicodedata.normalize('NFKC', EXPR['VARIATION'].sub('', t).translate(TABLE)).casefold()
    if not t.isascii():
        t = ''.join(c for c in t if unicodedata.category(c) != 'Cf').translate(TABLE)
    return spaces(t)


@lru_cache(maxsize=20_000)
def edges(t):
    return writing(t).strip('"\'*_ ').rstrip('.!;, ').strip('"\'*_ ')


@lru_cache(maxsize=20_000)
def plain(t):
    t = edges(t)
    for _ in range(8):
        before = t
        t = edges(t)
        t = EXPR['NUMBER_COMMA'].sub('', t)
        t = t.replace("'", '')
        t = EXPR['DRESS'].sub(' ', t)
        t = spaces(t)
        if t == before:
            break
    return t


@lru_cache(maxsize=20_000)
def bare(t):
    e = edges(t)
    m = EXPR['ARTICLE'].match(e)
    return plain(e[m.end():]) if m else plain(t)


@lru_cache(maxsize=20_000)
def core(t):
    b = EXPR['INNER_ARTICLE'].sub('', bare(EXPR['POSSESSIVE'].sub('', edges(t))))
    b = EXPR['ALL_OF'].sub(lambda m: m['all'], b)
    m = EXPR['OF'].fullmatch(b)
    return m['whose'] + ' ' + m['what'] if m else EXPR['INNER_S'].sub('', b)


@lru_cache(maxsize=20_000)
def formula(t):
    t = writing(t)
    for name, new in (('TEX_SPACE', ' '), ('TEX_GROUP', ''), ('TIMES', 'x'), ('PERCENT', '%'), ('BELOW', '')):
        t = EXPR[name].sub(new, t)
    return plain(EXPR['ABOUT'].sub('', spaces(t)))


STRICT = (str.strip, writing, edges)
LOOSE = (plain, bare, core, formula)
ALL = STRICT + LOOSE

# ----------------------------------------------------------------------------------------------------------------
# 2.2 Choice texts. A reading is (kind, label), or None: says nothing.


def one_of(labels):
    if not labels:
        return None
    return (CHOICE, labels[0]) if len(labels) == 1 else NO_CHOICE


def by_text(t, choices, levels):
    for fold in levels:
        folded = fold(t)
        found = [label for label, text in choices.items() if folded and fold(text) == folded]
        if found:
            return one_of(found)
    return None


def truths(choices):
    """{'true': label, 'false': label} where the question has these two choices and no other, else {}."""
    named = {plain(text): label for label, text in choices.items()}
    return named if len(choices) == 2 and set(named) == {'true', 'false'} else {}


def by_truth(t, choices):
    named = truths(choices)
    if named:
        m = EXPR['TRUTH_OF'].fullmatch(writing(t))
        if m:
            return (CHOICE, named['false' if m['true'] is None else 'true'])
        p = plain(t)
        if p in ('true', 't', 'yes', 'y'):
            return (CHOICE, named['true'])
        if p in ('false', 'f', 'no', 'n'):
            return (CHOICE, named['false'])
    return None


def tail_of(t, label, choices):
    """What t adds to the choice, or None where it does not begin with it or another choice begins like it."""
    p, c = bare(t), bare(choices[label])
    if not p.startswith(c) or any(bare(text).startswith(c) for other, text in choices.items() if other != label):
        return None
    return p[len(c):]


def completes(t, label, choices):
    c, text = bare(choices[label]), choices[label].rstrip()
    tail = tail_of(t, label, choices)
    if len(c) < 5 or not tail or not tail.isalpha():
        return False
    if text.endswith('-'):
        return ' ' in c
    if not text[-1:].isalpha() or c[-2] == ' ':
        return False
    if len(c) >= 30:
        return True
    if len(tail) != 1:
        return False
    if tail == label:
        return True
    stops = any(other.rstrip().endswith('.') for other in choices.values())
    return 'a' <= tail <= 'g' and (' ' in c or tail not in ('d', 'e') or stops)


def shortens(t, text):
    p, c = plain(t), plain(text)
    if not c.startswith(p) or len(c) > 2 * len(p):
        return False
    return p.count(' ') + (1 if c.startswith(p + ' ') else 0) >= 3


def is_part(t, label, choices):
    return completes(t, label, choices) or shortens(t, choices[label])


def by_part(t, choices):
    return one_of([label for label in choices if is_part(t, label, choices)])


def by_words(t, choices):
    """(label, the words added), or None."""
    if EXPR['BREAK'].search(t):
        return None
    for label, text in choices.items():
        tail = tail_of(t, label, choices)
        if len(bare(text)) >= 60 and text.rstrip()[-1:].isalpha() and tail and tail[0] == ' ':
            return label, tail[1:]
    return None


def is_own(t, label, choices):
    return bool(by_text(t, {label: choices[label]}, ALL)) or is_part(t, label, choices)


def alone(t, choices):
    """The label of the choice that t names, with nothing else said, or None."""
    t = without_leads(t).strip()
    for expression, part in (('LABEL_AND', 'rest'), ('LABEL_SPACE', 'rest'), ('TEXT_LABEL', 'text')):
        m = EXPR[expression].fullmatch(t)
        if m and m['label'] in choices and is_own(m[part], m['label'], choices):
            return m['label']
    m = EXPR['LABEL'].fullmatch(t)
    if m and m['label'] in choices:
        return m['label']
    said = by_text(t, choices, ALL) or by_truth(t, choices)
    return said[1] if said else None


def names(t, choices):
    p = ' ' + plain(t) + ' '
    return {label for label, text in choices.items() if ' ' + plain(text) + ' ' in p}


# ----------------------------------------------------------------------------------------------------------------
# 2.7 Saying nothing


def _lexicon():
    found = {'=': set(), '+': set(), '': set()}
    for line in re.sub('\n +', '', LEXICON.strip('\n')).split('\n'):
        mark = line[0] if line[0] in '=+' else ''
        pieces = re.split(r'\(([^()]*)\)', line[len(mark):])
        pieces = [p.split('|') if i % 2 else [p] for i, p in enumerate(pieces)]
        for combination in itertools.product(*pieces):
            found[mark].add(plain(''.join(combination)))
    return found['='], *({tuple(p.split()) for p in found[mark]} for mark in ('', '+'))


WHOLE_PHRASES, FIRM_PHRASES, EXCUSES = _lexicon()


def has_phrase(words, phrases, lengths):
    return any(tuple(words[i:i + k]) in phrases for k in lengths for i in range(len(words) - k + 1))


def lengths_of(phrases):
    return sorted({len(p) for p in phrases})


FIRM_LENGTHS, EXCUSE_LENGTHS = lengths_of(FIRM_PHRASES), lengths_of(EXCUSES)


def wholly_abstains(t):
    return plain(t) in WHOLE_PHRASES


@lru_cache(maxsize=20_000)
def firmly_abstains(t):
    return wholly_abstains(t) or has_phrase(plain(t).split(), FIRM_PHRASES, FIRM_LENGTHS)


@lru_cache(maxsize=20_000)
def abstains(t):
    return firmly_abstains(t) or has_phrase(plain(t).split(), EXCUSES, EXCUSE_LENGTHS)


def abstains_beside(t, choice):
    return abstains(t) if plain(choice) in ('true', 'false') else firmly_abstains(t)


def mentions(t, choices):
    w = writing(t)
    return names(t, choices) | {label for label in choices if another(w, {label})}


def leans(t, choices):
    mentioned = mentions(t, choices)
    if any(abstains(choices[label]) for label in mentioned):
        return True
    written = [writing(line) for line in t.splitlines()]
    if len(mentioned) >= 2:
        parts = [w for w in written if EXPR['EXPLICIT'].match(w)]
    else:
        parts = [part for w in written for part in EXPR['CLAUSE'].split(w)]
    return any(mentions(part, choices) and not abstains(part) for part in parts)


def saying_nothing(t, choices):
    if wholly_abstains(t):
        return NO_CHOICE if any(plain(text).startswith(plain(t) + ' ') for text in choices.values()) else DONT_KNOW
    return DONT_KNOW if abstains(t) and not leans(t, choices) else NO_CHOICE


def found_labels(expression, t, labels):
    """Does a match of the expression in t hold one of the labels in any of its groups?"""
    return any(g in labels for m in EXPR[expression].finditer(t) for g in m.groups() if g is not None)


def another(t, labels):
    return found_labels('ANOTHER', t, labels)


# ----------------------------------------------------------------------------------------------------------------
# 2.8 Wrappers


def unwrap(t):
    """(a) to (d), up to three times."""
    for _ in range(3):
        before = t
        while True:  # (a)
            t = t.rstrip()
            mark = next((m for m in END_MARKS if t[-len(m):].casefold() == m.casefold()), None)
            if mark is None:
                break
            t = t[:-len(mark)]
        lines = t.splitlines(keepends=True)  # (b)
        if len(lines) >= 2:
            t = ''.join(x for x in lines if not EXPR['FENCE'].fullmatch(x.splitlines()[0]))
        s = t.strip()  # (c)
        if len(s) >= 17 and s[:8].casefold() == '<answer>' and s[-9:].casefold() == '</answer>':
            inner = s[8:-9]
            if 'answer>' not in inner.casefold():
                t = inner
        for _ in range(4):  # (d)
            t = EXPR['TEX'].sub(lambda m: m.group(1), t)
        if t == before:
            break
    return t


DEEPEST = 32  # levels of nesting; the outermost object is the first


def too_deep(value, level=1):
    """Is the value, read with its objects as lists of pairs (tuples), nested deeper than the page allows?"""
    if not isinstance(value, list):
        return False
    return level > DEEPEST or any(too_deep(x[1] if isinstance(x, tuple) else x, level + 1) for x in value)


def answers_of(pairs, keys):
    """The values of the pairs with these keys, as texts; an object gives those of its own answer keys and `text`."""
    found = []
    for key, value in pairs:
        if key.casefold() not in keys:
            continue
        inner = []
        if isinstance(value, list) and value and isinstance(value[0], tuple):
            inner = answers_of(value, {*ANSWER_KEYS, 'text'})
        found += inner or [value if isinstance(value, str) else json.dumps(value)]
    return found


def json_answers(t):
    """The answers of a text that is a JSON object with the key `answer`, else None."""
    s = t.strip()
    if not s.startswith('{') or s[-1] != '}':
        return None
    try:
        pairs = json.loads(s if '"' in s else s.replace("'", '"'), object_pairs_hook=list, parse_int=str,
                           parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    if too_deep(pairs) or not any(key.casefold() == 'answer' for key, _ in pairs):
        return None
    return answers_of(pairs, ANSWER_KEYS)


def unwrapped_texts(t):
    """The one text that is left, or those of a JSON object."""
    t = unwrap(t)
    values = json_answers(t)
    return [t] if values is None else [unwrap(v) for v in values]


def announced(t):
    """A JSON object behind other text becomes `Answer: …`."""
    at = t.find('{')
    before = t[:max(at, 0)].strip()
    if not before or before[-1] not in ':.!':
        return t
    values = json_answers(t[at:])
    if not values or any(v != values[0] for v in values):
        return t
    if EXPR['NEGATION'].search(writing(before.splitlines()[-1])):
        return t
    return before + '\nAnswer: ' + values[0]


def undressed(t):
    lines = []
    for line in t.splitlines():
        m = EXPR['BULLET'].match(line)
        line = line[m.end():] if m else line
        for _ in range(4):
            cut = max(0, len(line) - 100)
            m = EXPR['TRAILER'].search(line[cut:])
            if not m:
                break
            line = line[:cut + m.start()]
        lines.append(line)
    return '\n'.join(lines)


# ----------------------------------------------------------------------------------------------------------------
# 2.5 What one line claims


def without_leads(w):
    for _ in range(3):
        m = EXPR['LEAD'].match(w)
        if not m:
            break
        w = w[m.end():].strip()
    return w


def retracts(t, label, choices):
    p, o = plain(t), plain(choices[label])
    if o in ('true', 'false'):  # RETRACTION plays no part then
        against = EXPR['AGAINST_TRUE' if o == 'true' else 'AGAINST_FALSE']
        return bool(against.search(EXPR['NOT_TRUE'].sub('wrong', EXPR['TRUE_ONLY'].sub(' ', p))))
    for name in (label, o):
        if p.startswith(name + ' '):
            p = 'it' + p[len(name):]
        if p.endswith(' ' + name):
            p = p[:-len(name)] + 'it'
    return bool(EXPR['RETRACTION'].search(p))


def with_remark(label, remark, choices):
    others = set(choices) - {label}
    remark = EXPR['NEITHER'].sub(lambda m: m[0] if label in names(m[0], choices) else ' ', writing(remark))
    w, o = writing(remark), plain(choices[label])
    named = names(remark, choices) & others
    if named and o not in ('true', 'false') and not (len(named) >= 2 and (o[:4] == 'all ' or o[:5] == 'both ')):
        return NO_CHOICE
    if (abstains_beside(remark, choices[label]) or EXPR['HEDGED_CLAUSE'].search(w) or retracts(remark, label, choices)
            or retracts('it ' + remark, label, choices) or another(w, others)):
        return NO_CHOICE
    return (CHOICE, label)


def by_contrast(t, choices):
    for expression in ('IS_RIGHT', 'NOT_OTHER', 'NOT_BUT'):
        m = EXPR[expression].fullmatch(t)
        label = alone(m['text'], choices) if m else None
        if label is None:
            continue
        groups = m.groupdict()
        if 'other' in groups and alone(groups['other'], choices) in (None, label):
            continue
        return with_remark(label, groups.get('rest') or '', choices)
    return None


def claim_of(t, r, choices):
    m = EXPR['LABEL'].fullmatch(t)  # 1
    if m and m['label'] in choices:
        return (CHOICE, m['label'])
    said = by_text(r, choices, STRICT) or by_truth(t, choices) or by_contrast(t, choices)  # 2, 3, 4
    if said:
        return said
    m = EXPR['LABEL_AND'].fullmatch(t)  # 5
    if m and m['label'] in choices and (plain(m['rest']) == m['label'] or not EXPR['SEVERAL'].fullmatch(t)):
        label, rest = m['label'], m['rest']
        if is_own(rest, label, choices):
            return (CHOICE, label)
        o, p = plain(choices[label]), plain(rest)
        if p.startswith(o + ' '):
            return with_remark(label, p[len(o) + 1:], choices)
        b = EXPR['BESIDE'].fullmatch(rest)
        if b and is_own(b['text'], label, choices):
            return with_remark(label, b['rest'], choices)
        if EXPR['BECAUSE'].match(p):
            return with_remark(label, rest, choices)
        return NO_CHOICE
    said = by_text(r, choices, LOOSE)  # 6
    if said:
        return said
    m = EXPR['LABEL_SPACE'].fullmatch(t)  # 7
    if m and m['label'] in choices:
        label, rest = m['label'], m['rest']
        if EXPR['BECAUSE_ALONE'].match(rest):
            return with_remark(label, rest, choices)
        said = by_text(rest, choices, ALL)
        if said and said[0] == CHOICE:
            return said if said[1] == label else NO_CHOICE
    m = EXPR['WHICH_IS'].fullmatch(t) or EXPR['TEXT_LABEL'].fullmatch(t)  # 8
    if m and m['label'] in choices:
        if is_own(m['text'], m['label'], choices):
            return (CHOICE, m['label'])
        if not EXPR['NEGATION'].search(t) and not EXPR['HEDGE'].search(t):
            subject = EXPR['SUBJECT'].fullmatch(m['text'])
            if subject and is_own(subject['rest'], m['label'], choices):
                return (CHOICE, m['label'])
    for expression in ('TEXT_AND', 'TRUTH_AND', 'GLOSS'):  # 9
        m = EXPR[expression].fullmatch(t)
        if m:
            said = by_text(m['text'], choices, ALL) or by_truth(m['text'], choices)
            said = said or one_of([x for x in choices if completes(m['text'], x, choices)])
            if said and said[0] == CHOICE:
                return with_remark(said[1], m['rest'], choices)
    said = by_part(t, choices)  # 10
    if said:
        return said
    more = by_words(t, choices)  # 11
    return with_remark(*more, choices) if more else None


def turned(piece):
    """A piece cut behind what announces an answer; one that begins as a preface, behind its first three turns."""
    parts = []
    if not EXPR['PREFACE'].match(writing(piece)):
        start = 0
        for m in EXPR['ANNOUNCED'].finditer(piece):
            if not EXPR['CONDITION'].search(writing(piece[start:m.start()])):
                parts.append(piece[start:m.end()])
                start = m.end()
        return parts + [piece[start:]]
    for _ in range(3):
        m = EXPR['TURN'].search(piece) if EXPR['PREFACE'].match(writing(piece)) else None
        if not m:
            break
        parts.append(piece[:m.end()])
        piece = piece[m.end():]
    return parts + [piece]


class Reader:
    """Reads texts against the choices of one question; remembers what a line claims."""

    def __init__(self, choices):
        self.choices = dict(choices)
        self.claims = {}

    def claim(self, line):
        if line not in self.claims:
            self.claims[line] = self._claim(line)
        return self.claims[line]

    def _claim(self, line):
        w = writing(line)
        if EXPR['QUESTION'].search(w):
            said = by_text(line, self.choices, STRICT)
            asked = alone(w.replace('?', ''), self.choices) is not None
            asked = asked or (truths(self.choices) and len(names(line, self.choices)) == 1)
            return said or (NO_CHOICE if asked else None)
        s = without_leads(w)
        stripped = line.strip()
        for t in ([w, s] if s and s != w else [w]):
            r = stripped[max(0, len(stripped) - len(t)):]
            said = claim_of(t, r if writing(r) == t else t, self.choices)
            if said:
                return said
        if EXPR['EXPLICIT'].match(w):
            if wholly_abstains(s) or (abstains(s) and not leans(s, self.choices)):
                return DONT_KNOW
            if EXPR['SEVERAL'].fullmatch(s) or EXPR['HEDGED'].match(s):
                return NO_CHOICE
        return None

    def chooses(self, line):
        said = self.claim(line)
        return bool(said) and said[0] == CHOICE

    # 2.4 ------------------------------------------------------------------------------------------------------

    def text(self, t):
        if len(t) > LONGEST or len(writing(t)) > LONGEST:  # 1
            return NO_CHOICE
        written = [x for x in t.splitlines() if writing(x)]
        if len(written) == 1 and self.chooses(written[0]):  # 2
            return self.claim(written[0])
        said = by_text(t, self.choices, STRICT)  # 3
        if said:
            return said
        if not plain(t):  # 4
            return DONT_KNOW
        lines = self.joined(self.cut(t))  # 5
        first = next((i for i, line in enumerate(lines) if not (self.is_preface(line) or self.asks(line))),
                     len(lines))  # 6
        if 0 < first < len(lines):
            said = self.several(lines[first:])
            if said[0] == CHOICE:
                return said
        if len(lines) == 1:  # 7
            return self.claim(lines[0]) or saying_nothing(lines[0], self.choices)
        return self.several(lines)

    def cut(self, t):
        pieces = []
        for line in t.splitlines():
            if self.chooses(line):
                pieces.append(line)
                continue
            start = 0
            for m in EXPR['SENTENCE'].finditer(line):
                piece = line[start:m.end()]
                if not EXPR['LABEL'].fullmatch(writing(piece)):
                    pieces += turned(piece)
                    start = m.end()
            pieces += turned(line[start:])
        return [x for x in pieces if writing(x)]

    def is_preface(self, line):
        w, labels = writing(line), set(self.choices)
        if not EXPR['PREFACE'].match(w) or EXPR['UNSURE'].search(w) or found_labels('LONE_LETTER', w, labels):
            return False
        return not mentions(line, self.choices)

    def asks(self, line):
        w = writing(line)
        return bool(EXPR['QUESTION'].search(w) and self.claim(line) is None
                    and not EXPR['UNSURE'].search(w) and not abstains(line))

    def joined(self, lines):
        out, i = [], 0
        while i < len(lines):
            line = lines[i]
            if i + 1 < len(lines) and EXPR['LEAD'].fullmatch(writing(line)) and self.claim(line) is None:
                i += 1
                line = line + ' ' + lines[i].strip()
            out.append(line)
            i += 1
        return out

    # 2.6 ------------------------------------------------------------------------------------------------------

    def begins_with_label(self, line):
        w = writing(line)
        m = EXPR['OPTION_LABEL'].match(w) or EXPR['MARKED_LABEL'].match(w)
        m = m or EXPR['MARKED_LABEL'].match(without_leads(w))
        return bool(m) and any(g in self.choices for g in m.groups() if g is not None)

    def announces(self, line):
        return bool(EXPR['EXPLICIT'].match(writing(line))) and self.chooses(line)

    def corrected(self, lines):
        """The lines that count: from the last correction on."""
        first_said = next((i for i, x in enumerate(lines) if self.announces(x)), len(lines))
        last_said = max((i for i, x in enumerate(lines) if self.announces(x)), default=-1)
        for i in reversed(range(1, len(lines))):
            w = writing(lines[i])
            m = EXPR['CORRECTS'].match(w)
            if m and last_said >= i:
                return lines[i:] if self.claim(lines[i]) else lines[i + 1:]
            if m and not truths(self.choices) and self.chooses(w[m.end():].strip()):
                return [w[m.end():].strip()] + lines[i + 1:]
            if EXPR['CONTRASTS'].match(w) and first_said == i:
                return lines[i:]
        return lines

    def deciding(self, lines):
        for i, line in enumerate(lines):
            if self.claim(line) and EXPR['EXPLICIT'].match(writing(line)):
                return i
        if len(lines) >= 2 and self.chooses(lines[-1]) and not EXPR['GRADE'].fullmatch(writing(lines[-1])):
            before = lines[:-1]
            if (not any(self.claim(x) for x in before)
                    and EXPR['SENTENCE_ENDS'].search(writing(before[-1]))
                    and not any(firmly_abstains(x) or self.begins_with_label(x)
                                or found_labels('LONE_LETTER', writing(x), set(self.choices)) for x in before)):
                return len(lines) - 1
        return 0

    def several(self, lines):
        unwrapped = [u for line in lines for u in unwrapped_texts(line)]
        lines = self.corrected([x for x in unwrapped if writing(x)] or lines)
        at = self.deciding(lines)  # 1
        decided = self.claim(lines[at])
        if decided is None:  # 2
            return saying_nothing('\n'.join(lines), self.choices)
        explicit = bool(EXPR['EXPLICIT'].match(writing(lines[at])))
        listed = {}  # 3
        for i in range(len(lines) if explicit else at):
            m = EXPR['LABEL_AND'].fullmatch(writing(lines[i]))
            if m and i != at:
                listed[i] = m['label']
        if len(set(listed.values())) < 2:
            listed = {}
        if len({self.claim(x)[1] for i, x in enumerate(lines) if i not in listed and self.claim(x)}) > 1:
            return NO_CHOICE
        if decided[0] != CHOICE:  # 4
            return decided
        label = decided[1]
        beside = {i for i, letter in listed.items() if letter != label and (
            not EXPR['SAYS_RIGHT'].search(writing(lines[i])) or EXPR['NEGATION'].search(writing(lines[i])))}
        for i, x in enumerate(lines[:at]):  # 5
            if i in beside:
                continue
            if retracts(x, label, self.choices) and not (i in listed and self.chooses(x)):
                return NO_CHOICE
            if self.claim(x) is None and i not in listed and self.begins_with_label(x):
                if not (explicit and EXPR['NEGATION'].search(writing(x))):
                    return NO_CHOICE
        others = set(self.choices) - {label}
        for i in range(at + 1, len(lines)):  # 6
            x = lines[i]
            w = writing(x)
            if i in beside:
                continue
            if EXPR['CORRECTS'].match(w) and mentions(x, self.choices) & others:
                return NO_CHOICE
            if (abstains_beside(x, self.choices[label]) or EXPR['HEDGED'].match(w)
                    or retracts(x, label, self.choices)):
                return NO_CHOICE
            if not EXPR['NEGATION'].search(w):
                if found_labels('ANSWERED', w, others) or (len(w.split()) <= 10 and another(w, others)):
                    return NO_CHOICE
        return decided  # 7

    # 2.3 ------------------------------------------------------------------------------------------------------

    def answer(self, t):
        if t in self.choices:  # 1
            return (CHOICE, t)
        if len(t) < 40 and t.isascii() and t.isprintable():  # 2
            m = EXPR['LABEL'].fullmatch(writing(t))
            if m and m['label'] in self.choices:
                return (CHOICE, m['label'])
        if len(t) > LONGEST:  # 3
            return NO_CHOICE
        if by_text(t, self.choices, STRICT) or not plain(t):  # 4
            return self.text(t)
        ends = [m.end() for m in EXPR['THOUGHT_ENDS'].finditer(t)]  # 5
        if ends:
            t = t[ends[-1]:]
        if EXPR['THOUGHT_BEGINS'].search(t):
            return NO_CHOICE
        t = EXPR['STRUCK'].sub('', self.without_run_on(t))  # 6, 7
        if not writing(t):
            return NO_CHOICE
        said = {self.text(undressed(announced(u))) for u in unwrapped_texts(t)}  # 8
        return said.pop() if len(said) == 1 else NO_CHOICE

    def without_run_on(self, t):
        lines = t.splitlines(keepends=True)
        for i in range(2, len(lines)):
            if lines[i - 1].strip() or not any(x.strip() for x in lines[:i - 1]):
                continue
            line = lines[i].splitlines()[0].casefold()
            if not EXPR['NEXT_QUESTION'].match(line):
                continue
            start = line.lstrip('#>*_ ')
            if 'q' in self.choices and start.startswith(('q:', 'q ')):
                continue
            return ''.join(lines[:i])
        return t


def read_answer(answer, choices):
    """(kind, label): kind is 'choice', 'abstained' or 'unparseable'; label is None but for a choice."""
    return Reader(choices).answer(answer)


# ----------------------------------------------------------------------------------------------------------------
# 1. The predictions file


class Fault(Exception):
    pass


def _pairs(pairs):
    seen = {}
    for key, value in pairs:
        if key in seen:
            raise Fault('key %r is given twice' % key)
        seen[key] = value
    return seen


def _int(text):
    if len(text) > 20:
        raise Fault('an integer of more than 20 characters')
    return int(text)


def _float(text):
    value = float(text)
    if math.isinf(value):
        raise Fault('a number too large for a double')
    return value


def _constant(text):
    raise Fault('%s is no JSON' % text)


def _walk(value, level):
    """Nesting and lone surrogates."""
    if isinstance(value, str):
        if any('\ud800' <= c <= '\udfff' for c in value):
            raise Fault('a lone surrogate')
    elif isinstance(value, (dict, list)):
        if level > DEEPEST:
            raise Fault('nesting deeper than 32 levels')
        for item in value if isinstance(value, list) else itertools.chain(value.keys(), value.values()):
            _walk(item, level + 1)


def strict_json(raw):
    if len(raw) > 4_000_000:
        raise Fault('a line of more than 4,000,000 bytes')
    try:
        text = raw.decode('utf-8')
    except UnicodeDecodeError:
        raise Fault('bytes that are no UTF-8') from None
    if text.startswith('\ufeff'):
        raise Fault('a byte order mark')
    if not text.strip(' \t\r\n'):
        raise Fault('a blank line')
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant)
    except RecursionError:
        raise Fault('nesting deeper than 32 levels') from None
    except ValueError as error:
        raise Fault('not JSON: %s' % error) from None
    _walk(value, 1)
    return value


def _is_int(v):
    return isinstance(v, int) and not isinstance(v, bool)


def _is_number(v):
    return _is_int(v) or isinstance(v, float)


def _is_passage(v):
    return (isinstance(v, list) and len(v) == 3 and isinstance(v[0], str) and v[0] != ''
            and _is_int(v[1]) and _is_int(v[2]) and 0 <= v[1] < v[2])


def _is_amount(v):
    return v is None or _is_number(v) and 0 <= v <= MOST


def _is_count(v):
    return v is None or _is_int(v) and 0 <= v <= MOST


MOST = 10 ** 12
STATUSES = ('ok', 'crash', 'timeout', 'output_cap', 'protocol')
FIELDS = {  # name: (test, what it must be, default)
    'question_id': (lambda v: isinstance(v, str), 'text', None),
    'answer': (lambda v: v is None or isinstance(v, str), 'text or null', None),
    'response': (lambda v: v is None or isinstance(v, str), 'text or null', None),
    'confidence': (lambda v: v is None or _is_number(v) and 0 <= v <= 1, 'a number from 0 to 1 or null', None),
    'passages': (lambda v: isinstance(v, list) and all(map(_is_passage, v)), 'a list of [page_id, start, end]', ()),
    'latency_s': (_is_amount, 'a number from 0 to 10^12 or null', None),
    'cost_usd': (_is_amount, 'a number from 0 to 10^12 or null', None),
    'energy_j': (_is_amount, 'a number from 0 to 10^12 or null', None),
    'input_tokens': (_is_count, 'an integer from 0 to 10^12 or null', None),
    'output_tokens': (_is_count, 'an integer from 0 to 10^12 or null', None),
    'status': (lambda v: isinstance(v, str) and v in STATUSES, 'one of ' + ', '.join(STATUSES), 'ok'),
}


def read_predictions(data, ids):
    """question id -> prediction; raises Fault on the first fault."""
    *ended, last = data.split(b'\n')
    rows = [raw.removesuffix(b'\r') for raw in ended] + ([last] if last else [])
    found = {}
    for number, raw in enumerate(rows, 1):
        try:
            given = strict_json(raw)
            if not isinstance(given, dict):
                raise Fault('a line that is no object')
            for name in given:
                if name not in FIELDS:
                    raise Fault('%s: an unknown field' % name)
            for name in ('question_id', 'answer'):
                if name not in given:
                    raise Fault('%s: missing' % name)
            row = {}
            for name, (test, what, default) in FIELDS.items():
                if name in given and not test(given[name]):
                    raise Fault('%s: must be %s' % (name, what))
                row[name] = given.get(name, default)
            if row['status'] != 'ok' and row['answer'] is not None:
                raise Fault('answer: must be null where status is not ok')
            if row['question_id'] not in ids:
                raise Fault('question_id: no question of this split')
            if row['question_id'] in found:
                raise Fault('question_id: given twice')
        except Fault as fault:
            raise Fault('%d: %s' % (number, fault)) from None
        found[row['question_id']] = row
    return found


# ----------------------------------------------------------------------------------------------------------------
# 3. Outcomes, counts, rates, slices

KINDS = (('c', 'correct'), ('i', 'incorrect'), ('a', 'abstained'), ('u', 'unparseable'), ('f', 'failed'))


def outcome(question, prediction, gold):
    if prediction is None or prediction['status'] != 'ok':
        return 'f'
    if prediction['answer'] is None:
        return 'a'
    if question['kind'] == 'free_text':
        raise NotImplementedError('free text (section 10) is not part of this scorer')
    kind, label = read_answer(prediction['answer'], question['choices'])
    if kind == CHOICE:
        return 'c' if label == gold else 'i'
    return 'a' if kind == ABSTAINED else 'u'


def counts_of(outcomes):
    return {name: sum(o == letter for o in outcomes) for letter, name in KINDS}


def share(a, b):
    return a / b if b else None


def rates_of(counts):
    c, i, a, u, f = (counts[name] for _, name in KINDS)
    n = c + i + a + u + f
    return {
        'accuracy': share(c, n),
        'hallucination': share(i, n),
        'missing': share(a + u + f, n),
        'score': share(c - i, n),
        'strict_score': share(c - i - u - f, n),
        'attempt_rate': share(c + i, n),
        'accuracy_given_attempted': share(c, c + i),
    }


def slices_of(exam, questions, outcomes):
    groups = {}
    supported = supported_ids(exam)
    leaked = exam.get('leaked')
    for q, o in zip(questions, outcomes):
        qid = q['question_id']
        values = [('kind', q['kind']), ('n_choices', str(len(q['choices'])))]
        if q.get('lesson') is not None:
            values.append(('lesson', q['lesson']))
        values += [('flag', flag) for flag in sorted(set(q.get('flags') or ()))]
        if exam.get('has_pages'):
            values.append(('pages', 'has pages' if exam['pages_of'].get(qid) else 'no pages'))
            values.append(('evidence', 'supported' if qid in supported else 'unsupported'))
            if leaked is not None:
                values.append(('leak', 'leaked' if qid in set(leaked) else 'clean'))
        for value in values:
            groups.setdefault(value, []).append(o)
    return [[attribute, value, counts_of(os)] for (attribute, value), os in sorted(groups.items())]


def lesson_numbers(questions):
    numbers = {}
    for q in questions:
        if q.get('lesson') is not None:
            numbers.setdefault(q['lesson'], len(numbers))
    return [-1 if q.get('lesson') is None else numbers[q['lesson']] for q in questions] if numbers else []


# ----------------------------------------------------------------------------------------------------------------
# 4. Intervals and tests

VALUES = {
    'score': dict(c=1, i=-1, a=0, u=0, f=0),
    'strict_score': dict(c=1, i=-1, a=0, u=-1, f=-1),
    'accuracy': dict(c=1, i=0, a=0, u=0, f=0),
    'hallucination': dict(c=0, i=1, a=0, u=0, f=0),
    'missing': dict(c=0, i=0, a=1, u=1, f=1),
}
BY_LESSON = 'bootstrap-by-lesson-v1, seed 0'
EXACT = 'bootstrap-exact-v1'


def units_of(lessons, n):
    """(unit of each question, whether units are lessons)."""
    known = [x for x in lessons or () if x >= 0]
    single = (not known or len(known) == len(set(known)) or (len(known) == n and len(set(known)) == 1))
    if single:
        return list(range(n)), False
    units, first = [], {}
    for i, lesson in enumerate(lessons):
        units.append(first.setdefault(('lesson', lesson) if lesson >= 0 else ('question', i), len(first)))
    return units, True


def power_of_distribution(p, n):
    """Distribution of the sum of n independent draws from p (a longdouble array over 0 … len - 1): (array, offset).

    Squaring and multiplying; ends that hold less than 10^-32 are cut off, which keeps the arrays short.
    """
    def trim(a, offset):
        keep = np.nonzero(a > np.longdouble(1e-32))[0]
        return a[keep[0]:keep[-1] + 1], offset + int(keep[0])

    def times(x, y):
        return trim(np.convolve(x[0], y[0]), x[1] + y[1])

    result, square = (np.ones(1, np.longdouble), 0), trim(p, 0)
    while n:
        if n & 1:
            result = times(result, square)
        n >>= 1
        if n:
            square = times(square, square)
    return result[0] / result[0].sum(), result[1]


def exact_interval(values):
    n = len(values)
    least = min(values)
    p = np.zeros(max(values) - least + 1, np.longdouble)
    for v in values:
        p[v - least] += 1
    distribution, offset = power_of_distribution(p / n, n)
    cumulated = np.cumsum(distribution)
    ends = []
    for level in ('0.025', '0.975'):
        at = int(np.argmax(cumulated + np.longdouble('1e-12') >= np.longdouble(level)))
        ends.append((at + offset + n * least) / n)
    return ends


@lru_cache(maxsize=2)
def draws_of(m):
    return np.random.default_rng(0).integers(0, m, size=(10000, m), dtype=np.int32)


def lesson_interval(values, units):
    m = max(units) + 1
    sums = np.bincount(units, weights=values, minlength=m).astype(np.int64)
    sizes = np.bincount(units, minlength=m).astype(np.int64)
    draws = draws_of(m)
    means = np.sort(sums[draws].sum(axis=1) / sizes[draws].sum(axis=1))
    return [float(means[249]), float(means[-250])]


def interval_of(values, lessons):
    if not values:
        return None
    units, by_lesson = units_of(lessons, len(values))
    return lesson_interval(values, units) if by_lesson else exact_interval(values)


def unit_sums(values, units):
    sums = {}
    for v, u in zip(values, units):
        sums[u] = sums.get(u, 0) + v
    return list(sums.values())


def sign_flip_p(sums):
    total = abs(sum(sums))
    sizes = [abs(d) for d in sums if d]
    if total == 0:
        return 1.0
    limit = (sum(sizes) - total) // 2  # same parity always
    m = len(sizes)
    if m <= 1500:  # exact: polynomial of counts, packed into one integer of m + 1 bits a coefficient
        width = m + 1
        packed = 1
        for size in sizes:
            packed += packed << (size * width)
        mask = (1 << width) - 1
        ways = sum((packed >> (k * width)) & mask for k in range(limit + 1))
        return min(1.0, float(Fraction(2 * ways, 1 << m)))
    p = np.zeros(sum(sizes) + 1, np.longdouble)
    p[0] = 1
    for size in sizes:
        moved = np.zeros_like(p)
        moved[size:] = p[:-size]
        p = (p + moved) / 2
    return min(1.0, float(2 * p[:limit + 1].sum()))


def _points(outcomes, reading='score'):
    return [VALUES[reading][o] for o in outcomes]


def paired(first_outcomes, second_outcomes, lessons=None, reading='score'):
    n = len(first_outcomes)
    d = [a - b for a, b in zip(_points(first_outcomes, reading), _points(second_outcomes, reading))]
    low, high = interval_of(d, lessons)
    return {'difference': sum(d) / n, 'low': low, 'high': high, 'p': sign_flip_p(unit_sums(d, units_of(lessons, n)[0]))}


def mcnemar(first_outcomes, second_outcomes, lessons=None):
    pairs = list(zip(first_outcomes, second_outcomes))
    d = [(a == 'c') - (b == 'c') for a, b in pairs]
    return {'first_only': d.count(1), 'second_only': d.count(-1),
            'p': sign_flip_p(unit_sums(d, units_of(lessons, len(d))[0]))}


# ----------------------------------------------------------------------------------------------------------------
# 5. Confidence


def confidence_of(questions, outcomes, predictions):
    stated = [(predictions.get(q['question_id']) or {}).get('confidence') for q in questions]
    attempted = [(o == 'c', c) for o, c in zip(outcomes, stated) if o in 'ci']
    used = [(right, float(c) + 0.0) for right, c in attempted if c is not None]  # -0.0 + 0.0 is 0.0
    if not used:
        return {}
    n, r = len(used), sum(right for right, _ in used)

    curve, aurc_terms = [], []
    best, threshold, n_kept = 0, None, 0  # giving none of them
    kept = wrong = 0
    for c in sorted({c for _, c in used}, reverse=True):
        step = [right for right, x in used if x == c]
        kept += len(step)
        wrong += step.count(False)
        curve.append({'threshold': c, 'coverage': kept / n, 'risk': wrong / kept, 'percent': 100 * kept // n})
        aurc_terms.append(len(step) * wrong / kept)
        if kept - 2 * wrong >= best:
            best, threshold, n_kept = kept - 2 * wrong, c, kept
    aurc = math.fsum(aurc_terms) / n
    ideal = math.fsum((k - r) / k for k in range(r + 1, n + 1)) / n

    bins = {}
    for right, c in used:
        m = next(m for m in range(1, 16) if c <= m / 15)
        bins.setdefault(m, []).append((right, c))
    gaps = [abs(math.fsum(c - right for right, c in inside)) for inside in bins.values()]

    without = sum(1 if right else -1 for right, c in attempted if c is None)
    return {
        'n': n,
        'n_attempted': len(attempted),
        'brier': math.fsum((c - right) * (c - right) for right, c in used) / n,
        'ece': math.fsum(gaps) / n,
        'aurc': aurc,
        'e_aurc': aurc - ideal,
        'bins': [{'low': (m - 1) / 15, 'high': m / 15, 'n': len(inside), 'n_correct': sum(right for right, _ in inside),
                  'confidence': math.fsum(c for _, c in inside) / len(inside)} for m, inside in sorted(bins.items())],
        'curve': [{name: point[name] for name in ('threshold', 'coverage', 'risk')} for point in thinned(curve)],
        'best': {'score': (best + without) / len(questions), 'threshold': threshold, 'n_kept': n_kept},
    }


def thinned(curve):
    """Of more than 100 points, the first to reach each whole percent of coverage, and the last."""
    if len(curve) <= 100:
        return curve
    shown, reached = [], 0
    for point in curve:
        if point['percent'] > reached or point is curve[-1]:
            shown.append(point)
            reached = point['percent']
    return shown


# ----------------------------------------------------------------------------------------------------------------
# 6. Retrieval

CUTS = (1, 3, 5, 10)
Z = 1.959963984540054


def supported_ids(exam):
    return {qid for qid, pages in (exam.get('evidence') or {}).items() if any(spans for spans in pages.values())}


def places_of(evidence):
    """[(page, start, end)]: merged where spans share a character, by page and start."""
    places = []
    for page in sorted(evidence):
        merged = []
        for start, end in sorted(tuple(span) for span in evidence[page]):
            if merged and start < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        places += [(page, start, end) for start, end in merged]
    return places


def touches(a, b):
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]


def relevance(passages, places):
    """rel(1), rel(2), … of the cited passages, in order."""
    taken, rel = set(), []
    for passage in passages:
        place = next((p for p in places if p not in taken and touches(passage, p)), None)
        if place is not None:
            taken.add(place)
        rel.append(0 if place is None else 1)
    return rel


def measures(rel, n_places):
    def at(k):
        return (rel + [0] * k)[:k]

    def dcg(gains):
        return math.fsum(g / math.log2(r + 1) for r, g in enumerate(gains, 1))

    out = {}
    for k in CUTS:
        cut = at(k)
        out['P@%d' % k] = sum(cut) / k
        out['R@%d' % k] = sum(cut) / n_places
        out['success@%d' % k] = 1.0 if any(cut) else 0.0
        out['MAP@%d' % k] = math.fsum(sum(cut[:r]) / r for r in range(1, k + 1) if cut[r - 1]) / n_places
        out['NDCG@%d' % k] = dcg(cut) / dcg([1] * min(n_places, k))
    out['MRR'] = 1 / (rel.index(1) + 1) if 1 in rel else 0.0
    return out


def mean_and_interval(values, clusters):
    n = len(values)
    mean = math.fsum(values) / n
    sums = {}
    for v, g in zip(values, clusters):
        sums.setdefault(g, []).append(v - mean)
    g = len(sums)
    if g < 2:
        return round(mean, 10), [0.0, 1.0]
    se = math.sqrt(g / (g - 1) * math.fsum(math.fsum(x) ** 2 for x in sums.values())) / n
    return round(mean, 10), [round(max(0.0, mean - Z * se), 10), round(min(1.0, mean + Z * se), 10)]


def passages_of(prediction):
    return [tuple(p) for p in (prediction or {}).get('passages', ())]


def evidence_cited(passages, places):
    return any(touches(p, place) for p in passages for place in places)


def retrieval_of(exam, questions, outcomes, predictions):
    cited = [passages_of(predictions.get(q['question_id'])) for q in questions]
    citing = [c for c in cited if c]
    if not citing:
        return {}
    out = {
        'n_citing': len(citing),
        'n_passages_mean': sum(map(len, citing)) / len(citing),
        'n_characters_mean': sum(end - start for c in citing for _, start, end in c) / len(citing),
    }
    supported = supported_ids(exam)
    rows = [(q, o, c, places_of(exam['evidence'][q['question_id']]))
            for q, o, c in zip(questions, outcomes, cited) if q['question_id'] in supported]
    if not rows:
        return out
    out['n_supported'] = len(rows)
    out['n_evidence_mean'] = sum(len(places) for _, _, _, places in rows) / len(rows)
    answered = [(c, places) for _, o, c, places in rows if o in 'ci']
    out['n_answered_supported'] = len(answered)
    if answered:
        out['evidence_cited'] = sum(evidence_cited(c, places) for c, places in answered) / len(answered)
    out['n_grounded'] = sum(o == 'c' and evidence_cited(c, places) for _, o, c, places in rows)
    out['n_lucky'] = sum(o == 'c' and not evidence_cited(c, places) for _, o, c, places in rows)
    # a line's citations count with any outcome
    table = [measures(relevance(c, places), len(places)) for _, _, c, places in rows]
    clusters = [('lesson', q['lesson']) if q.get('lesson') is not None else ('question', q['question_id'])
                for q, _, _, _ in rows]
    out['metrics'], out['intervals'] = {}, {}
    for name in table[0]:
        out['metrics'][name], out['intervals'][name] = mean_and_interval([row[name] for row in table], clusters)
    return out


# ----------------------------------------------------------------------------------------------------------------
# 7. Attribution

CAUSES = ('failed', 'flagged_broken', 'unparseable', 'evidence_not_found', 'over_abstained', 'not_retrieved', 'not_used')


def cause_of(letter, flags, places, passages):
    if letter == 'c':
        return None
    if letter == 'f':
        return 'failed'
    if set(flags or ()) & {'context_bound', 'duplicate_choices'}:
        return 'flagged_broken'
    if letter == 'u':
        return 'unparseable'
    if not places:
        return 'evidence_not_found'
    found = evidence_cited(passages, places)
    if letter == 'a' and (found or not passages):
        return 'over_abstained'
    return 'not_used' if found else 'not_retrieved'


def attribution_of(exam, questions, outcomes, predictions):
    causes = [cause_of(o, q.get('flags'), places_of((exam.get('evidence') or {}).get(q['question_id'], {})),
                       passages_of(predictions.get(q['question_id']))) for q, o in zip(questions, outcomes)]
    return {cause: causes.count(cause) for cause in CAUSES}


# ----------------------------------------------------------------------------------------------------------------
# All of it


def score(exam, lines):
    questions = sorted(exam['questions'], key=lambda q: q['question_id'])
    try:
        predictions = read_predictions(lines, {q['question_id'] for q in questions})
    except Fault as fault:
        return {'fault': str(fault)}
    outcomes = ''.join(outcome(q, predictions.get(q['question_id']), exam['gold'][q['question_id']]) for q in questions)
    counts = counts_of(outcomes)
    lessons = lesson_numbers(questions)
    return {
        'outcomes': outcomes,
        'counts': counts,
        'rates': rates_of(counts),
        'slices': slices_of(exam, questions, outcomes),
        'lessons': lessons,
        'intervals': {name: interval_of(_points(outcomes, name), lessons)
                      for name in ('score', 'accuracy', 'hallucination', 'missing')},
        'interval_method': BY_LESSON if units_of(lessons, len(outcomes))[1] else EXACT,
        'confidence': confidence_of(questions, outcomes, predictions),
        'retrieval': retrieval_of(exam, questions, outcomes, predictions),
        'attribution': attribution_of(exam, questions, outcomes, predictions),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--exam', required=True)
    parser.add_argument('--predictions', required=True)
    arguments = parser.parse_args()
    with open(arguments.exam, encoding='utf-8') as file:
        exam = json.load(file)
    with open(arguments.predictions, 'rb') as file:
        lines = file.read()
    json.dump(score(exam, lines), sys.stdout, ensure_ascii=False)
    print()


if __name__ == '__main__':
    main()
