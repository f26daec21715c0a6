"""The grammar of the generated training questions, which need one, two, or three and more contexts.

`{a}`, `{b}`, `{c}` and `{d}` are topics, `{field}` is their field. Each class has questions, unfinished
statements and orders, short and long ones: neither length nor form alone reveals the class (HyPA-RAG section 7.1
warns of this). Half of the questions are whole templates; the other half are joined from asks that are the same in all
classes, so that the class depends on their number, not on their content.
"""

from __future__ import annotations

ONE = (
    "What is {a}?",
    "Define {a}.",
    "Where does one find {a}?",
    "Who first described {a}?",
    "What causes {a}?",
    "Which word names {a} in the study of {field}?",
    "In the study of {field}, what do scientists mean when they speak of {a}?",
    "What is the main function of {a}?",
    "How is {a} measured?",
    "Which of these is an example of {a}?",
    "An example of {a} is",
    "The main purpose of {a} is to",
    "The term for {a} comes from",
    "{a} can best be described as",
    "Which of the following statements about {a} is true?",
    "Is {a} important for life on earth?",
    "What happens during {a}?",
    "When does {a} begin?",
    "How many kinds of {a} are known?",
    "Name one property of {a} that can be seen without any instrument in a school laboratory.",
    "If a student looks closely at {a}, which feature will the student notice first?",
    "Why is {a} useful?",
    "{a} is made of",
    "____ is another name for {a}.",
)
"""One context answers these: a definition, a property, a cause, a place."""

TWO = (
    "How do {a} and {b} differ?",
    "What is the difference between {a} and {b}?",
    "Compare {a} with {b}.",
    "What do {a} and {b} have in common?",
    "How does {a} affect {b}?",
    "What is {a}, and where does one find {b}?",
    "What causes {a}, and what does {b} have to do with it?",
    "Define {a} and give an example of {b}.",
    "Why does {a} depend on {b}?",
    "Is {a} more important than {b} in the study of {field}?",
    "Which comes first, {a} or {b}, and why?",
    "{a} and {b} are alike because both",
    "Unlike {a}, {b} is",
    "The link between {a} and {b} is that",
    "If {a} were to increase, what would happen to {b}?",
    "A student confuses {a} with {b}. What should the student be told?",
    "What is {a}? How is {b} measured?",
    "Both {a} and {b} occur in nature. Which one is easier to observe?",
    "Without {b}, could there be {a}?",
    "Tell {a} from {b}.",
    "How can knowledge of {a} be used to explain what is seen when scientists study {b}?",
    "Which property of {a} does {b} lack?",
    "What role does {b} play in {a}?",
    "Describe {a} and name its effect on {b}.",
)
"""Two contexts: two things compared, or the effect of one on the other."""

THREE = (
    "Compare {a}, {b} and {c}.",
    "How do {a}, {b} and {c} work together?",
    "Explain how {a} leads to {b} and then to {c}.",
    "Give an overview of {field}.",
    "What are the roles of {a}, {b}, {c} and {d} in {field}?",
    "What is {a}, how does it differ from {b}, and where does {c} come in?",
    "Rank {a}, {b} and {c}.",
    "Summarise everything that is known about {field}, from {a} to {d}.",
    "Which of {a}, {b} and {c} matters most, and why?",
    "Define {a}, {b} and {c}.",
    "Describe the whole chain from {a} through {b} to {c}.",
    "How has our understanding of {field} changed, and what do {a} and {b} show about it?",
    "What are the causes of {a}, its effects on {b}, and the ways in which {c} can be observed?",
    "{a}, {b} and {c} are alike because all of them",
    "The order of {a}, {b}, {c} and {d} is",
    "All of these belong to {field} except: {a}, {b}, {c}",
    "Sort {a}, {b}, {c} and {d} into groups.",
    "Discuss {field}: {a}, {b}, {c}.",
    "What is {a}? What is {b}? What is {c}?",
    "Why do {a} and {b} both depend on {c}?",
    "Suppose that {a} stopped. What would become of {b}, and what would follow for {c} and {d}?",
    "Explain the main ideas of {field}.",
    "Using {a} and {b} as examples, explain what holds for {c}.",
    "List the parts that {a}, {b} and {c} share.",
)
"""Three or more: several things put in order or related, and overviews of a field."""

TEMPLATES = (ONE, TWO, THREE)
"""By class: 0 (one context), 1 (two), 2 (three and more)."""

ASKS = (
    "what {} is",
    "what {} is called in everyday words",
    "where one finds {}",
    "what causes {}",
    "how {} is measured",
    "what {} is good for",
    "who discovered {}",
    "when {} begins",
    "what {} is made of",
    "how {} changes over time",
    "why {} matters",
    "what happens to {} at night",
    "which property of {} is easiest to see",
    "how much {} there is on earth",
    "what follows from {}",
    "what can stop {}",
)
"""One piece of information each."""

JOINS = (
    (
        "Explain {}.",
        "Can you tell me {}?",
        "I wonder {}.",
        "Students should know {}.",
        "The book says {}.",
        "Tell the class {}.",
        "Please say {}.",
        "Does anyone know {}?",
    ),
    (
        "Explain {} and {}.",
        "Can you tell me {}, and also {}?",
        "I wonder both {} and {}.",
        "Students should know {} as well as {}.",
        "The book says {}, but not {}.",
        "Tell the class {} and then {}.",
        "Please say {}. Also say {}.",
        "Does anyone know {} or {}?",
    ),
    (
        "Explain {}, {} and {}.",
        "Can you tell me {}, {}, and also {}?",
        "I wonder {}, {}, and finally {}.",
        "Students should know {} as well as {}, and besides {}.",
        "The book says {} and {}, but not {}.",
        "Tell the class {}, then {} and then {}.",
        "Please say {}. Also say {}. Then say {}.",
        "Does anyone know {}, {} or {}?",
    ),
)
"""By class: asks joined into a question."""
