package hostile

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite"
)

// boards are board files that somebody else made.
func boards() []hostile {
	file := func(name string, content func(p *place, good []byte) []byte) hostile {
		return hostile{"board-" + name, func(p *place) {
			p.clone()
			good, err := os.ReadFile(p.board(""))
			p.must(err)
			p.write(p.board(""), string(content(p, good)))
		}}
	}
	schema := func(name string, statements ...string) hostile {
		return hostile{"board-" + name, func(p *place) {
			p.clone()
			p.sql(statements...)
		}}
	}
	random := rand.NewChaCha8([32]byte{7})
	list := []hostile{
		file("random", func(_ *place, _ []byte) []byte {
			b := make([]byte, 64<<10)
			_, _ = random.Read(b)
			return b
		}),
		file("random-after-header", func(_ *place, good []byte) []byte {
			_, _ = random.Read(good[100:])
			return good
		}),
		file("random-pages", func(_ *place, good []byte) []byte {
			_, _ = random.Read(good[4096*3:])
			return good
		}),
		file("truncated", func(_ *place, good []byte) []byte { return good[:len(good)/2] }),
		file("header", func(_ *place, good []byte) []byte { return good[:100] }),
		file("empty", func(_ *place, _ []byte) []byte { return nil }),
		file("text", func(_ *place, _ []byte) []byte { return []byte(escapes) }),
		{"board-another-program", func(p *place) {
			p.clone()
			p.must(os.Remove(p.board("")))
			p.sql("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT)", "INSERT INTO moz_places VALUES (1, 'x')")
		}},
		{"board-log-of-another", func(p *place) {
			p.clone()
			good, err := os.ReadFile(p.board(""))
			p.must(err)
			p.write(p.board("-wal"), string(good))
			p.write(p.board("-shm"), string(good))
			p.write(p.board("-journal"), string(good))
		}},
		schema("version-future", "UPDATE goose_db_version SET version_id = 9999 WHERE id = (SELECT max(id) FROM goose_db_version)"),
		schema("version-negative", "UPDATE goose_db_version SET version_id = -5"),
		schema("version-huge", "UPDATE goose_db_version SET version_id = 9223372036854775807"),
		schema("version-none", "DELETE FROM goose_db_version"),
		schema("version-old", "DELETE FROM goose_db_version WHERE version_id > 1"),
		schema("version-endless", "DROP TABLE goose_db_version", "CREATE VIEW goose_db_version AS "+endless("version_id", "is_applied")),
		schema("trigger-endless", `CREATE TRIGGER evil AFTER INSERT ON events BEGIN INSERT INTO meta SELECT * FROM (`+endless("a", "b")+`); END`),
		schema("trigger-forges", `CREATE TRIGGER evil AFTER INSERT ON events BEGIN UPDATE tasks SET title = 'forged'; END`),
		schema("trigger-same-name", "DROP TRIGGER events_update", `CREATE TRIGGER events_update AFTER INSERT ON events BEGIN INSERT INTO meta SELECT * FROM (`+endless("a", "b")+`); END`),
		schema("virtual-table", "CREATE VIRTUAL TABLE evil USING fts5(a)"),
		schema("foreign-keys", "PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'tasks'"),
		schema("broken-schema", "PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = 'CREATE TABLE tasks (' WHERE name = 'tasks'"),
		schema("escapes", "UPDATE tasks SET title = "+quote(escapes), "UPDATE projects SET name = "+quote(escapes), "PRAGMA ignore_check_constraints = ON",
			"UPDATE projects SET slug = "+quote(escapes), "UPDATE projects SET policy = "+quote(escapes), "UPDATE tasks SET status = "+quote(escapes)),
		schema("escapes-in-tasks", "UPDATE tasks SET title = "+quote(escapes)+", areas = "+quote(escapes)),
		schema("not-utf8", "UPDATE tasks SET title = CAST(x'ff9b33316dfe' AS TEXT), areas = CAST(x'00ff1b5b336d' AS TEXT)"),
		schema("huge-values", "UPDATE tasks SET title = printf('%.*c', 5000000, 'x'), areas = printf('%.*c', 5000000, 'y')"),
		schema("numbers", "PRAGMA ignore_check_constraints = ON", "UPDATE tasks SET created_at = 9223372036854775807", "UPDATE tasks SET priority = -9223372036854775808"),
		schema("many-tasks", multiply(30_000)),
	}
	// Tables that never end, or whose values are made when they are read.
	for _, table := range []string{"tasks", "projects", "workers", "claims", "questions", "events", "meta"} {
		if !everything && table != "tasks" && table != "meta" {
			continue
		}
		list = append(list,
			hostile{"board-view-" + table, func(p *place) {
				p.clone()
				columns := p.columns(table)
				p.sql("PRAGMA foreign_keys = OFF", "DROP TABLE "+table, "CREATE VIEW "+table+" AS "+endless(columns...))
			}},
			hostile{"board-computed-" + table, func(p *place) {
				p.clone()
				columns := p.columns(table)
				for i, c := range columns {
					columns[i] = c + " TEXT AS (hex(zeroblob(1000000)))"
				}
				p.sql("PRAGMA foreign_keys = OFF", "DROP TABLE "+table, "CREATE TABLE "+table+" (x, "+strings.Join(columns, ", ")+")",
					"INSERT INTO "+table+" (x) WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c LIMIT 200) SELECT n FROM c")
			}})
	}
	return list
}

// escapes move the cursor, change the title of the window, colour, and turn the text around.
const escapes = "\x1b]0;owned\x07\x1b[31m\x1b[2J\u009b1m\u202edlrow\r\x08x"

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// endless is a query that never ends, with these columns.
func endless(columns ...string) string {
	var list []string
	for _, c := range columns {
		list = append(list, "x AS "+c)
	}
	return "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT " + strings.Join(list, ", ") + " FROM c"
}

// multiply makes n tasks of one.
func multiply(n int) string {
	return fmt.Sprintf("multiply %d", n)
}

// sql changes the board, as whoever builds the archive.
func (p *place) sql(statements ...string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", p.board(""))
	p.must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("PRAGMA foreign_keys = OFF")
	p.must(err)
	for _, s := range statements {
		if n, ok := strings.CutPrefix(s, "multiply "); ok {
			p.multiply(db, n)
			continue
		}
		if _, err := db.Exec(s); err != nil {
			p.t.Fatalf("%.200s: %v", s, err)
		}
	}
	_, _ = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
}

func (p *place) multiply(db *sql.DB, n string) {
	p.t.Helper()
	var columns []string
	for _, c := range p.columns("tasks") {
		switch c {
		case "id":
			c = "NULL"
		case "number":
			c = "c.x + 100"
		}
		columns = append(columns, c)
	}
	_, err := db.Exec("INSERT INTO tasks WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT " + n + ") SELECT " + strings.Join(columns, ", ") + " FROM c, (SELECT * FROM tasks LIMIT 1)")
	p.must(err)
}

// columns are the columns of a table of the board.
func (p *place) columns(table string) (names []string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", p.board(""))
	p.must(err)
	defer db.Close()
	rows, err := db.Query("SELECT name FROM pragma_table_info(?)", table)
	p.must(err)
	defer rows.Close()
	for rows.Next() {
		var name string
		p.must(rows.Scan(&name))
		names = append(names, name)
	}
	if len(names) == 0 {
		p.t.Fatalf("there is no table %s", table)
	}
	return names
}

// quick are the things that stand for the others in a short run: every file meets half of them.
var quick = []string{"pipe", "link-to-device", "link-outside", "link-nowhere"}

func isQuick(file int, thing string) bool {
	n := slices.Index(quick, thing)
	return n >= 0 && (file+n)%2 == 0
}

// boardFiles are boards in which something else stands in place of a file.
func boardFiles() (list []hostile) {
	for i, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock", ".queue", ".alive", ".owners"} {
		for _, k := range things {
			if k.name == "directory" && (suffix == ".alive" || suffix == ".owners") || !everything && !isQuick(i, k.name) {
				continue
			}
			list = append(list, hostile{"board.db" + suffix + "-" + k.name, func(p *place) {
				p.clone()
				p.put(k.name, p.board(suffix))
			}})
		}
	}
	outside := func(name string, build func(p *place)) { list = append(list, hostile{name, build}) }
	for _, suffix := range []string{".alive", ".owners"} {
		outside(suffix[1:]+"-outside", func(p *place) {
			p.clone()
			p.must(os.Symlink(p.outside(), p.board(suffix)))
		})
		outside(suffix[1:]+"-full", func(p *place) {
			p.clone()
			for _, k := range things[:5] {
				p.put(k.name, filepath.Join(p.board(suffix), "s-"+k.name))
			}
			for i := range 2000 {
				p.write(filepath.Join(p.board(suffix), fmt.Sprintf("s-%d", i)), "")
			}
			p.write(filepath.Join(p.board(suffix), "-rf\x1b[31m"), "")
		})
	}
	outside("directory-outside", func(p *place) {
		p.clone()
		p.must(os.RemoveAll(p.git("bossman")))
		p.must(os.Symlink(p.outside(), p.git("bossman")))
	})
	outside("board-of-the-victim", func(p *place) {
		p.clone()
		p.must(os.Remove(p.board("")))
		p.must(os.Symlink(filepath.Join(p.victim(), ".git", "bossman", "board.db"), p.board("")))
	})
	outside("dot-bossman-outside", func(p *place) {
		p.mkdir(p.dir)
		p.must(os.Symlink(filepath.Join(p.victim(), ".git", "bossman"), filepath.Join(p.dir, ".bossman")))
	})
	outside("dot-bossman-of-links", func(p *place) {
		p.mkdir(filepath.Join(p.dir, ".bossman"))
		for _, suffix := range []string{"", "-wal", "-journal", ".lock", ".queue", ".alive", ".owners"} {
			p.must(os.Symlink(filepath.Join(p.outside(), "created"), filepath.Join(p.dir, ".bossman", "board.db"+suffix)))
		}
	})
	outside("dot-bossman-pipe", func(p *place) { p.put("pipe", filepath.Join(p.dir, ".bossman")) })
	outside("backups-of-links", func(p *place) {
		p.clone()
		p.sql("DELETE FROM goose_db_version WHERE version_id > 6")
		for _, name := range []string{".v6.bak", ".v6.bak.part"} {
			p.must(os.Symlink(p.precious(), p.board(name)))
		}
	})
	// Files beside the board, which other commands read and write.
	for i, name := range []string{"link", "trusted", "user-check", "claim.json", "claim.json.lock"} {
		for _, k := range things {
			if !everything && !isQuick(i, k.name) {
				continue
			}
			outside("bossman-"+name+"-"+k.name, func(p *place) {
				p.clone()
				p.put(k.name, p.git("bossman", name))
				p.more = []string{"link", "trust"}
				p.write(filepath.Join(p.home(), ".config", "bossman", "config.toml"), "[check]\ncommand = [\"true\"]\n")
			})
		}
	}
	return list
}
