package postgres

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/bossman-dev/bossman/board"
)

// stamp returns a column value of a time. The zero time is NULL.
func stamp(t *time.Time) *zeronull.Timestamptz { return (*zeronull.Timestamptz)(t) }

// trim sets empty lists to nil.
func trim(lists ...*[]string) {
	for _, l := range lists {
		if len(*l) == 0 {
			*l = nil
		}
	}
}

// orEmpty returns an empty list for nil, for columns that are NOT NULL.
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// encode returns a value as JSON without its zero fields.
func encode(v any) (string, error) {
	b, err := json.Marshal(v, json.OmitZeroStructFields(true), json.Deterministic(true))
	return string(b), err
}

// jsonInto scans a column of JSON text.
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
	return fmt.Errorf("postgres: cannot scan %T as JSON", src)
}

// numberInto scans the number of a task from its row id.
type numberInto struct{ dest *int64 }

func (n numberInto) ScanInt64(v pgtype.Int8) error {
	*n.dest = number(v.Int64)
	return nil
}

// number returns the number of a task from its row id.
func number(key int64) int64 { return key & board.MaxNo }

// no returns the number of a task for its row id. A number that is out of range would
// overflow into the project, and so identify a task of another project. It returns -1
// instead, with which no task is found.
func no(id board.ID) int64 {
	if id.No < 0 || id.No > board.MaxNo {
		return -1
	}
	return id.No
}

// ancestors returns the parent directories of areas. A task overlaps with claims on an
// ancestor of its areas, and with claims below them.
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

// named adds what was not found to an ErrNotFound.
func named(err error, kind string, name any) error {
	if errors.Is(err, board.ErrNotFound) {
		return notFound(kind, name)
	}
	return err
}
