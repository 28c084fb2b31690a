package pgtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A History is a board that has been in use for years. Nearly all of it is in one project,
// HistoryProject; HistoryOther has nothing that can be handed out.
type History struct {
	// Finished is the number of tasks that are done or cancelled, and Open that of all
	// others, 62 % of which are ready.
	Finished, Open int
	// Events is how many events each finished task has, at least two.
	Events int
	// Short makes titles and descriptions of a few words: ten million of the usual length take
	// hours to get into the search index, and 20 GB.
	Short bool
}

// The projects and skills of a History. A task requires one of the skills. HistoryRare is
// a word in the descriptions of ten tasks; HistoryCommon is one in those of every third.
const (
	HistoryProject = "web"
	HistoryOther   = "ops"
	HistoryRare    = "zanzibar"
	HistoryCommon  = "lighthouse"
)

// HistorySkills are the skills that tasks of a History require, one each.
var HistorySkills = []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}

// HistoryIdle are skills that the project has and no task requires.
var HistoryIdle = strings.Fields("i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12 i13 i14 i15 i16 i17 i18 i19 i20 i21 i22 i23 i24")

// historyYears is how old the first task is; the last one is from now.
const (
	historyYears = 3 * 365 * 24 * time.Hour
	historyTime  = "2006-01-02 15:04:05.000"
)

// FillHistory puts a history into an empty board, and vacuums it. Its events have an epoch of
// their own, because their transactions never were in this database.
func FillHistory(ctx context.Context, dsn string, h History) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	// A table that is truncated in the transaction needs no write-ahead log if wal_level is
	// minimal, and its rows need not be written again by VACUUM; and an index is made sooner than
	// it is filled row by row.
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return loadHistory(ctx, tx, h) })
	if err != nil {
		return fmt.Errorf("pgtest: fill a history: %w", err)
	}
	for _, s := range []string{`VACUUM (ANALYZE)`, `CHECKPOINT`} {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("pgtest: fill a history: %s: %w", s, err)
		}
	}
	return nil
}

func loadHistory(ctx context.Context, tx pgx.Tx, h History) error {
	const plain = `SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index i
		WHERE indrelid = ANY($1::text[]::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid) ORDER BY 1`
	var tables []string
	for _, t := range historyTables {
		table, _, _ := strings.Cut(t.into, " ")
		tables = append(tables, table)
	}
	rows, err := tx.Query(ctx, plain, tables)
	if err != nil {
		return err
	}
	var name, definition string
	var drop, create []string
	searched := false
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		drop, create = append(drop, `DROP INDEX `+name), append(create, definition)
		searched = searched || name == "search_text"
		return nil
	}); err != nil {
		return err
	}
	run := func(statements ...string) error {
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("%.60s…: %w", s, err)
			}
		}
		return nil
	}
	err = run(slices.Concat(drop, []string{
		`SET LOCAL session_replication_role = replica`, // no triggers
		`SET LOCAL maintenance_work_mem = '1GB'`,
		`TRUNCATE ` + strings.Join(tables, ", "),
		fmt.Sprintf(`INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived)
			SELECT slug, '', 'trust', '0', '{%s}', '', false FROM unnest('{%s,%s}'::text[]) WITH ORDINALITY p(slug, i) ORDER BY i`,
			strings.Join(slices.Concat(HistorySkills, HistoryIdle), ","), HistoryProject, HistoryOther),
		fmt.Sprintf(`INSERT INTO project_counters (project_id, next_no) SELECT id, %d FROM projects`, h.Finished+h.Open+1),
		fmt.Sprintf(`INSERT INTO lanes (project_id, skills) SELECT 1, ARRAY[s] FROM unnest('{%s}'::text[]) WITH ORDINALITY l(s, i) ORDER BY i`,
			strings.Join(HistorySkills, ",")),
	})...)
	if err != nil {
		return err
	}
	w := &historyWriter{h: h, now: time.Now()}
	for _, t := range historyTables {
		if strings.HasPrefix(t.into, "search ") && !searched {
			continue
		}
		r, pipe := io.Pipe()
		go func() {
			w.w = bufio.NewWriterSize(pipe, 1<<16)
			for no := 1; no <= h.Finished+h.Open; no++ {
				t.rows(w, no)
			}
			pipe.CloseWithError(w.w.Flush())
		}()

		_, err := tx.Conn().PgConn().CopyFrom(ctx, r, "COPY "+t.into+" FROM STDIN (FREEZE)")
		r.CloseWithError(err)
		if err != nil {
			return fmt.Errorf("copy %.40s…: %w", t.into, err)
		}
	}
	return run(slices.Concat(create, []string{
		`UPDATE meta SET feed_epoch = 2`,
		`DELETE FROM task_counts`,
		`WITH n AS (INSERT INTO task_counts (project_id, status, n) SELECT (id >> 40)::int, status, count(*) FROM tasks GROUP BY 1, 2)
			UPDATE counted SET epoch = feed_epoch, at = pg_current_snapshot() FROM meta`,
		`UPDATE states_counted SET epoch = 0`,
		`SELECT setval(pg_get_serial_sequence('events', 'id'), (SELECT max(id) FROM events))`,
		`SELECT setval(pg_get_serial_sequence('questions', 'id'), (SELECT max(id) FROM questions))`,
	})...)
}

// A historyWriter writes rows in COPY's text format.
type historyWriter struct {
	h     History
	now   time.Time
	w     *bufio.Writer
	event int64
}

func (w *historyWriter) row(format string, args ...any) { fmt.Fprintf(w.w, format+"\n", args...) }

// at is when a task was created.
func (w *historyWriter) at(no int) string {
	age := float64(w.h.Finished+w.h.Open-no) / float64(w.h.Finished+w.h.Open)
	return w.now.Add(-time.Duration(age * float64(historyYears))).UTC().Format(historyTime)
}

// seen is when the worker of a task was last seen. The last hundred are those of today: how many work on a board does not
// depend on how long it is in use.
func (w *historyWriter) seen(no int) string {
	if no > w.h.Finished+w.h.Open-1000 {
		return w.now.UTC().Format(historyTime)
	}
	return min(w.at(no), w.now.AddDate(0, 0, -2).UTC().Format(historyTime))
}

func (w *historyWriter) title(no int) string {
	if w.h.Short {
		return fmt.Sprint("task ", no)
	}
	return fmt.Sprint("a title of the usual length, task ", no)
}

func (w *historyWriter) description(no int) string {
	text := ""
	if no%3 == 0 {
		text = HistoryCommon
	}
	if no <= w.h.Finished && no%max(1, w.h.Finished/10) == 1 {
		text = HistoryRare
	}
	module, neighbour := no%997, no*2654435761%(1<<32)
	if w.h.Short {
		return fmt.Sprintf("module %d, neighbour %x %s", module, neighbour, text)
	}
	return fmt.Sprintf("Correct how module %d reads what its neighbour %x wrote. The cause is known, and so is where it belongs; %s see the notes of the meeting, and keep what others rely on.",
		module, neighbour, text)
}

// A historyTask is what its tables say about one task.
type historyTask struct {
	status  string
	ready   bool
	hold    bool
	resting bool
	blocker int // the number of the task that it waits for, or 0
	parent  int // or 0
}

func (w *historyWriter) task(no int) historyTask {
	if no <= w.h.Finished {
		t := historyTask{status: "done"}
		if no%20 == 7 {
			t.status = "cancelled"
		}
		if no%10 >= 8 {
			t.parent = no - no%10
		}
		if no%7 == 3 {
			t.blocker = no - 1
		}
		return t
	}
	switch i := no - w.h.Finished; i % 100 {
	case 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79:
		return historyTask{status: "pending", blocker: no - 60}
	case 80:
		if stuck := w.h.Finished - w.h.Finished%20 - 13; stuck > 0 && i < 1000 {
			return historyTask{status: "pending", blocker: stuck} // on one that was cancelled
		}
		return historyTask{status: "pending", blocker: no - 60}
	case 81, 82, 83, 84:
		return historyTask{status: "pending", hold: true}
	case 85, 86, 87, 88, 89:
		return historyTask{status: "failed"}
	case 90, 91, 92, 93:
		return historyTask{status: "review"}
	case 94, 95:
		return historyTask{status: "pending", resting: true}
	case 96:
		return historyTask{status: "in_progress"}
	case 97:
		return historyTask{status: "waiting"}
	}
	return historyTask{status: "pending", ready: true}
}

// pack is the row id of a task of the first project, or NULL.
func pack(no int) string {
	if no == 0 {
		return `\N`
	}
	return fmt.Sprint(int64(1)<<40 | int64(no))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// historyTables are the tables in the order they are filled, and the rows of each task.
var historyTables = []struct {
	into string
	rows func(w *historyWriter, no int)
}{
	{
		`tasks (id, lane_id, skills, status, ready, hold, priority, queued_at, not_before, open_blockers, open_children, done_children,
		attempt, nonce, failures, max_failures, lease, spec_version, seq, parent_id, areas, area_up, wants, title, created_by, created_at, ended_at)`,
		func(w *historyWriter, no int) {
			t, at := w.task(no), w.at(no)
			lane := no / 3 % len(HistorySkills)
			attempt, seq, ended, resting, waits := 0, 1, `\N`, `\N`, 0
			switch {
			case no <= w.h.Finished:
				attempt, seq, ended = 1, w.h.Events, at
			case t.status != "pending":
				attempt, seq = 1, 2
			case t.resting:
				resting = w.now.Add(10 * 24 * time.Hour).UTC().Format(time.RFC3339)
			case t.blocker != 0:
				waits = 1
			}
			w.row("%s\t%d\t{%s}\t%s\t%d\t%d\t2\t%s\t%s\t%d\t0\t0\t%d\tk7f2q\t0\t3\t0\t1\t%d\t%s\t{src/d%d}\t{.,src}\t{}\t%s\tada\t%s\t%s",
				pack(no), lane+1, HistorySkills[lane], t.status, bit(t.ready), bit(t.hold), at, resting, waits, attempt, seq, pack(t.parent), no%50, w.title(no), at, ended)
		},
	},
	{`task_docs (task_id, description, acceptance, result)`, func(w *historyWriter, no int) {
		result := `\N`
		if no <= w.h.Finished {
			result = `{"Summary":"it is done, and the tests pass"}`
		}
		w.row("%s\t%s\tthe tests pass\t%s", pack(no), w.description(no), result)
	}},
	{`search (task_id, txt)`, func(w *historyWriter, no int) {
		w.row("%s\t%s", pack(no), strings.ToLower(w.title(no)+" "+w.description(no)))
	}},
	{`links (task_id, blocker_id)`, func(w *historyWriter, no int) {
		if t := w.task(no); t.blocker > 0 {
			w.row("%s\t%s", pack(no), pack(t.blocker))
		}
	}},
	{
		`attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, ended_at, cause, reason, do_not_repeat, place, spec_version, created, report_hash, report_answer)`,
		func(w *historyWriter, no int) {
			t, at := w.task(no), w.at(no)
			ended, cause := at, "done"
			switch t.status {
			case "pending":
				return
			case "in_progress", "waiting":
				ended, cause = `\N`, ""
			case "failed":
				cause = "failed"
			}
			w.row("%s\t1\tk7f2q\tk%d\tw%d\tp-%d\t%s\t%s\t%s\t\t\t{}\t1\t0\t\t", pack(no), no/10%100, no/10, no/100, at, ended, cause)
		},
	},
	{`claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)`, func(w *historyWriter, no int) {
		if w.task(no).status == "in_progress" {
			w.row("%s\t1\tk7f2q\tk%d\tw%d\tp-%d\ts\t%s\t%s\t10 min\t1", pack(no), no/10%100, no/10, no/100, w.at(no), w.now.Add(10*24*time.Hour).UTC().Format(time.RFC3339))
		}
	}},
	{`workers (principal, name, owner, last_seen, stopped_by)`, func(w *historyWriter, no int) {
		if no%10 == 0 {
			owner := ""
			if no > w.h.Finished {
				owner = fmt.Sprint("p-", no/100)
			}
			w.row("k%d\tw%d\t%s\t%s\t", no/10%100, no/10, owner, w.seen(no))
		}
	}},
	{
		`questions (project_id, task_id, attempt, nonce, principal, worker, owner, chat_id, text, options, dflt, needed_by, blocking, human_only, state, answer, answered_by, asked_at, answered_at)`,
		func(w *historyWriter, no int) {
			open := w.task(no).status == "waiting"
			if !open && (no > w.h.Finished || no%20 != 0) {
				return
			}
			state, answer, by, answered := "answered", "the first", "ada", w.at(no)
			if open {
				state, answer, by, answered = "open", "", "", `\N`
			}
			w.row("1\t%s\t1\tk7f2q\tk%d\tw%d\t\t\tWhich of the two is meant?\t{}\t\t\\N\t%s\tf\t%s\t%s\t%s\t%s\t%s",
				pack(no), no/10%100, no/10, map[bool]string{true: "t", false: "f"}[open], state, answer, by, w.at(no), answered)
		},
	},
	{`events (id, epoch, xid, project_id, task_id, seq, at, actor, kind, from_status, to_status, detail)`, func(w *historyWriter, no int) {
		t, at := w.task(no), w.at(no)
		event := func(seq int, kind, from, to, detail string) {
			w.event++
			w.row("%d\t1\t%d\t1\t%s\t%d\t%s\tw%d\t%s\t%s\t%s\t%s", w.event, w.event, pack(no), seq, at, no/10, kind, from, to, detail)
		}
		event(1, "created", "", "pending", `{"Title":"a title of the usual length"}`)
		switch {
		case no > w.h.Finished && t.status != "pending":
			event(2, "claimed", "pending", t.status, `{"Attempt":1,"Nonce":"k7f2q","Worker":"w"}`)
		case no <= w.h.Finished && w.h.Events < 3:
			event(2, "done", "pending", t.status, `{"Summary":"it is done, and the tests pass"}`)
		case no <= w.h.Finished:
			event(2, "claimed", "pending", "in_progress", `{"Attempt":1,"Nonce":"k7f2q","Worker":"w"}`)
			for seq := 3; seq < w.h.Events; seq++ {
				event(seq, "note", "in_progress", "in_progress", `{"Attempt":1,"Nonce":"k7f2q","Worker":"w","Text":"looked at the next module, and changed what it reads"}`)
			}
			event(w.h.Events, "done", "in_progress", t.status, `{"Summary":"it is done, and the tests pass"}`)
		}
	}},
}
