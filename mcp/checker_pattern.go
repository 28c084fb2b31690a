package mcp

import (
	"encoding/json"
	"regexp/syntax"
	"strings"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// maxPatterns is the limit of what patternSize returns. A step of a compiled
// expression takes some 100 bytes.
const maxPatterns = 100_000

// patternSize estimates how many steps the regular expressions of a schema
// have. A few bytes can be a thousand: a{1000}. It stops counting above
// maxPatterns.
func patternSize(schema json.RawMessage) (n int) {
	add := func(size int) bool {
		n += size
		return n <= maxPatterns
	}
	for v := range rawjson.Elements(schema) {
		if !add(patternSize(v)) {
			return n
		}
	}
	for name, v := range rawjson.Members(schema) {
		if name == "pattern" && !add(stepsOf(rawjson.Text(v))) {
			return n
		}
		if name == "patternProperties" {
			for pattern := range rawjson.Members(v) {
				if !add(stepsOf(pattern)) {
					return n
				}
			}
		}
		if !add(patternSize(v)) {
			return n
		}
	}
	return n
}

// stepsOf estimates the steps of a regular expression.
func stepsOf(pattern string) int {
	n := len(pattern) + 1000*(strings.Count(pattern, `\p`)+strings.Count(pattern, `\P`)) // classes of Unicode have many ranges
	if n > maxPatterns {
		return n
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return n // whoever compiles it says so
	}
	return max(n, repeated(re))
}

// repeated returns the steps of an expression when its repetitions are written
// out.
func repeated(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += repeated(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatterns+1)
}
