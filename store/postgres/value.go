package postgres

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/bossman-dev/bossman/board"
)

// stamp is a time whose zero is NULL.
func stamp(t *time.Time) *zeronull.Timestamptz { return (*zeronull.Timestamptz)(t) }

// trim makes nil of lists that were read empty.
func trim(lists ...*[]string) {
	for _, l := range lists {
		if len(*l) == 0 {
			*l = nil
		}
	}
}

// orEmpty is for columns that are not NULL.
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// encode writes a value as JSON without its zero fields; it cannot fail for ours.
func encode(v any) (string, error) {
	b, err := json.Marshal(v, json.OmitZeroStructFields(true), json.Deterministic(true))
	return string(b), err
}

// jsonInto reads a column of JSON text.
type jsonInto struct{ dest any }

func (j jsonInto) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(s), j.dest)
	case []byte:
		return json.Unmarshal(s, j.dest)
	}
	return fmt.Errorf("postgres: JSON as %T", src)
}

// number is the second half of a task's ID, from its key.
func number(key int64) int64 { return key & board.MaxNo }

// no is the second half of a task's ID, for a key. One that is out of bounds would
// change the first half, and so name a task of another project: -1 in its place makes
// a key that no task has.
func no(id board.ID) int64 {
	if id.No < 0 || id.No > board.MaxNo {
		return -1
	}
	return id.No
}

// ancestors gives the directories above the areas. A claim that works in one of these
// overlaps, and so does one that works anywhere below an area.
func ancestors(areas []string) []string {
	up := []string{}
	for _, a := range areas {
		for a != "." && a != "/" && a != "" {
			a = path.Dir(a)
			up = append(up, a)
		}
	}
	slices.Sort(up)
	return slices.Compact(up)
}

func notFound(kind string, name any) error {
	return fmt.Errorf("%w: %s %v", board.ErrNotFound, kind, name)
}

// named says what was not found.
func named(err error, kind string, name any) error {
	if errors.Is(err, board.ErrNotFound) {
		return notFound(kind, name)
	}
	return err
}
