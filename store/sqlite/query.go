package sqlite

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A query is composed of constant strings. Values are always parameters.
type query struct {
	strings.Builder
	args  []any
	where bool
}

// newQuery returns a query that begins with a constant text without WHERE.
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

// anyOf adds a constant condition for each of the values, joined with OR. Without values
// nothing matches.
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

// end appends a constant text with its parameters.
func (q *query) end(text string, args ...any) {
	q.WriteString(" ")
	q.WriteString(text)
	q.args = append(q.args, args...)
}

// pageSize is the default limit.
const pageSize = 1000

func limitOr(limit, def int) int {
	if limit <= 0 {
		return def
	}
	return limit
}

// nullTime returns the value of a nullable time column. The zero time is NULL.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// fromNullTime is the reverse of nullTime.
func fromNullTime(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return fromMicros(*n)
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// micros returns the value of a duration column.
func micros(d time.Duration) int64 { return d.Microseconds() }

func toDuration(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// asJSON encodes a list or a struct. It replaces invalid UTF-8.
func asJSON(v any) (string, error) {
	b, err := json.Marshal(v, json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	return string(b), err
}

// listJSON encodes a list. An empty list is [].
func listJSON[T ~string](list []T) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	return asJSON(list)
}

func fromJSON(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// listFromJSON decodes a list. [] becomes nil.
func listFromJSON[T ~string](text string) ([]T, error) {
	if text == "[]" {
		return nil, nil
	}
	var list []T
	err := fromJSON(text, &list)
	return list, err
}
