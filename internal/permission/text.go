package permission

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/internal/visible"
)

// The answers that people choose from.
const (
	Yes        = "yes"
	YesForTask = "yes, for this task"
	No         = "no"
)

// Options are the answers to a question about a permission. One that is vague is not given for the whole task.
func Options(vague bool) []string {
	if vague {
		return []string{Yes, No}
	}
	return []string{Yes, YesForTask, No}
}

// Text is the question about a permission, which In reads. What the agent wants to do, in which directory, what it says about
// that, and what would be allowed for the task stand behind a margin, each below a line of ours, so that no line of them looks like
// one of ours, whatever ends its lines, and wherever they are broken.
func Text(p Permission) string {
	name := strings.Join(strings.Fields(visible.Line(p.Agent)), "_")
	text := fmt.Sprintf("May %s use %s?", word(name, 100, "an-agent"), word(visible.Line(p.Tool), 200, "a tool"))
	if use := strings.TrimRight(p.Use, "\n"); use != "" {
		text += quote(use)
	}
	if dir := strings.TrimSpace(visible.Line(p.Dir)); dir != "" {
		text += "\n" + inDir + quote(dir)
	}
	if words := strings.TrimSpace(p.Words); words != "" {
		text += "\n" + says + quote(words)
	}
	switch {
	case p.Vague:
		text += "\n" + vague
	case len(p.Rules) > 0:
		text += "\n" + rules
		for _, rule := range p.Rules {
			text += quote(visible.Line(rule))
		}
	}
	return text
}

// Same reports whether two questions about a permission are about the same: all but what the agent says about it, of
// which nothing is done.
func Same(a, b string) bool { return withoutWords(a) == withoutWords(b) }

// withoutWords is a question without what the agent says about it.
func withoutWords(text string) string {
	var kept []string
	skip := false
	for line := range strings.SplitSeq(text, "\n") {
		if skip = line == says || skip && strings.HasPrefix(line, margin); !skip {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// word is a name for the first line of a question, which ends with the only question mark in it.
func word(name string, most int, none string) string {
	name = strings.TrimSpace(strings.ReplaceAll(name, "?", "<U+003F>"))
	if utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most-1]) + "…"
	}
	if name == "" {
		return none
	}
	return name
}

// quote returns the lines of a text of an agent, each behind a margin. Long gaps are spelled out: what
// follows one would be taken for something else.
func quote(text string) string {
	text = gaps.ReplaceAllStringFunc(visible.Text(text), func(gap string) string {
		if n := utf8.RuneCountInString(gap); n+7*strings.Count(gap, "\t") > maxGap {
			return fmt.Sprintf(" <%d blanks> ", n)
		}
		return gap
	})
	return "\n  | " + strings.ReplaceAll(text, "\n", "\n  | ")
}

// maxGap is how many columns may be blank between two words.
const maxGap = 32

var gaps = regexp.MustCompile(`[\t\p{Zs}]+`)
