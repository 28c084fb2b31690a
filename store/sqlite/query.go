package sqlite

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A query is put together from constant pieces; values are parameters only.
type query struct {
	strings.Builder
	args  []any
	where bool
}

// newQuery starts with a constant text without WHERE.
func newQuery(text string) *query {
	q := &query{}
	q.WriteString(text)
	return q
}

// and adds a constant condition.
func (q *query) and(condition string, args ...any) {
	if q.where {
		q.WriteString(" AND ")
	} else {
		q.WriteString(" WHERE ")
		q.where = true
	}
	q.WriteString("(")
	q.WriteString(condition)
	q.WriteString(")")
	q.args = append(q.args, args...)
}

// anyOf adds a constant condition once for each set of values, one of which must
// hold. No values at all: nothing fits.
func anyOf[T any](q *query, condition string, values []T, args func(T) []any) {
	if len(values) == 0 {
		q.and("FALSE")
		return
	}
	var all []any
	for _, v := range values {
		all = append(all, args(v)...)
	}
	q.and(condition+strings.Repeat(" OR "+condition, len(values)-1), all...)
}

// end adds a constant text with its values.
func (q *query) end(text string, args ...any) {
	q.WriteString(" ")
	q.WriteString(text)
	q.args = append(q.args, args...)
}

// pageSize is what a limit of 0 means.
const pageSize = 1000

func limitOr(limit, usual int) int {
	if limit <= 0 {
		return usual
	}
	return limit
}

// A moment is a time that a column may lack; the zero time is NULL.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// fromMoment reads a moment.
func fromMoment(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return fromMicros(*n)
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// span is a duration as it is stored.
func span(d time.Duration) int64 { return d.Microseconds() }

func fromSpan(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// asJSON writes a list or a structure of ours. Broken UTF-8 in a text is replaced.
func asJSON(v any) (string, error) {
	b, err := json.Marshal(v, json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	return string(b), err
}

// listJSON writes a list; none is [].
func listJSON[T ~string](list []T) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	return asJSON(list)
}

func fromJSON(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// listFromJSON reads a list; [] is nil.
func listFromJSON[T ~string](text string) ([]T, error) {
	if text == "[]" {
		return nil, nil
	}
	var list []T
	err := fromJSON(text, &list)
	return list, err
}
