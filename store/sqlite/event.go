package sqlite

import (
	"fmt"
	"strconv"

	"github.com/bossman-dev/bossman/board"
)

const eventColumns = `SELECT e.id, p.slug, e.task_id, e.seq, e.at, e.actor, e.kind, e.from_status, e.to_status, e.detail
	FROM events e CROSS JOIN projects p ON p.id = e.task_id >> 40`

func scanEvent(scan scan) (board.Event, error) {
	var e board.Event
	var place, task, at int64
	var detail string
	if err := scan(&place, &e.Task.Project, &task, &e.Seq, &at, &e.Actor, &e.Kind, &e.From, &e.To, &detail); err != nil {
		return e, err
	}
	e.Task = unpack(e.Task.Project, task)
	e.At = fromMicros(at)
	e.Cursor = board.Cursor(strconv.FormatInt(place, 10))
	return e, fromJSON(detail, &e.Detail)
}

// events runs a constant query that begins with eventColumns.
func (r *reader) events(query string, args ...any) ([]board.Event, error) {
	var list []board.Event
	err := r.each(query, args, func(scan scan) error {
		e, err := scanEvent(scan)
		list = append(list, e)
		return err
	})
	return list, err
}

func (r *reader) Events(id board.ID, after int64, limit int) ([]board.Event, error) {
	const query = eventColumns + ` WHERE e.task_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`
	packed, err := r.pack(id)
	if err != nil {
		return nil, err
	}
	list, err := r.events(query, packed, after, limitOr(limit, pageSize))
	if err == nil && len(list) == 0 {
		_, err = r.task(packed, id) // no more events, or no such task
	}
	return list, err
}

// Feed lists events in commit order: there is one writer at a time, and the rowid of an
// event increases.
func (r *reader) Feed(projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	place, err := r.feedFrom(after)
	if err != nil {
		return nil, err
	}
	q := newQuery(eventColumns)
	q.and(`e.id > ?`, place)
	if projects != nil {
		ids, err := r.projectIDs(projects)
		if err != nil {
			return nil, err
		}
		// The unary plus makes SQLite scan in the order of the feed.
		anyOf(q, `+e.task_id BETWEEN ? AND ?`, ids, func(id int64) []any {
			first, last := idRange(id)
			return []any{first, last}
		})
	}
	q.end(`ORDER BY e.id LIMIT ?`, limitOr(limit, pageSize))
	var list []board.Event
	err = r.eachOf(q, func(scan scan) error {
		e, err := scanEvent(scan)
		list = append(list, e)
		return err
	})
	return list, err
}

func (r *reader) FeedEnd() (board.Cursor, error) {
	const query = `SELECT max(feed_floor, coalesce((SELECT max(id) FROM events), 0)) FROM meta`
	var last int64
	err := r.get(query, nil, &last)
	return board.Cursor(strconv.FormatInt(last, 10)), err
}

// cursor parses a cursor into the rowid of an event.
func cursor(c board.Cursor) (int64, error) {
	if c == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(c), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: invalid cursor %.40q", board.ErrInvalid, string(c))
	}
	return n, nil
}

func (t *tx) Append(events ...board.Event) error {
	const query = `INSERT INTO events (task_id, seq, at, actor, kind, from_status, to_status, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	now := t.now()
	for _, e := range events {
		id, err := t.pack(e.Task)
		if err != nil {
			return err
		}
		detail, err := asJSON(e.Detail)
		if err != nil {
			return err
		}
		_, err = t.exec(query, id, e.Seq, now, e.Actor, e.Kind, e.From, e.To, detail)
		if isDuplicate(err) {
			return fmt.Errorf("%w: event %d of task %v exists already", board.ErrConflict, e.Seq, e.Task)
		}
		if err != nil {
			return err
		}
	}
	return t.count(countAfter)
}
