package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// limits are the keywords that bound a value of a type.
type limits struct {
	minimum, maximum, above, below, multiple *float64
	minLength, maxLength                     *int // in characters
	pattern                                  *regexp.Regexp
	minItems, maxItems                       *int
	unique                                   bool
}

// set sets a keyword, and reports whether it is one of these.
func (l *limits) set(name string, v json.RawMessage) bool {
	var target any
	switch name {
	case "minimum":
		target = &l.minimum
	case "maximum":
		target = &l.maximum
	case "exclusiveMinimum":
		target = &l.above
	case "exclusiveMaximum":
		target = &l.below
	case "multipleOf":
		target = &l.multiple
	case "minLength":
		target = &l.minLength
	case "maxLength":
		target = &l.maxLength
	case "minItems":
		target = &l.minItems
	case "maxItems":
		target = &l.maxItems
	case "uniqueItems":
		target = &l.unique
	case "pattern":
		var err error
		l.pattern, err = regexp.Compile(rawjson.Text(v))
		return err == nil && v[0] == '"'
	default:
		return false
	}
	return jsonv2.Unmarshal(v, target) == nil
}

// violation describes why a number or a string certainly does not match, or
// returns "". If it is uncertain whether it matches, certain is false.
func (l *limits) violation(v json.RawMessage) (why string, certain bool) {
	if v[0] == '"' {
		return l.textViolation(v), true
	}
	if v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return "", true
	}
	n, err := strconv.ParseFloat(string(v), 64)
	switch number := func(f *float64) string { return strconv.FormatFloat(*f, 'g', -1, 64) }; {
	case err != nil:
		return "", false
	case l.minimum != nil && n < *l.minimum:
		return "want at least " + number(l.minimum), true
	case l.maximum != nil && n > *l.maximum:
		return "want at most " + number(l.maximum), true
	case l.above != nil && n <= *l.above:
		return "want more than " + number(l.above), true
	case l.below != nil && n >= *l.below:
		return "want less than " + number(l.below), true
	}
	return "", l.multiple == nil
}

func (l *limits) textViolation(v json.RawMessage) string {
	if l.minLength == nil && l.maxLength == nil && l.pattern == nil {
		return ""
	}
	s := rawjson.Text(v)
	switch n := utf8.RuneCountInString(s); {
	case l.minLength != nil && n < *l.minLength:
		return "want at least " + count(*l.minLength, "character")
	case l.maxLength != nil && n > *l.maxLength:
		return "want at most " + count(*l.maxLength, "character")
	case l.pattern != nil && !l.pattern.MatchString(s):
		return "want text that matches " + l.pattern.String()
	}
	return ""
}

// lengthViolation is like violation, for the length of an array.
func (l *limits) lengthViolation(n int) string {
	switch {
	case l.minItems != nil && n < *l.minItems:
		return "want at least " + count(*l.minItems, "element")
	case l.maxItems != nil && n > *l.maxItems:
		return "want at most " + count(*l.maxItems, "element")
	}
	return ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
