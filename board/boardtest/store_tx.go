package boardtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeTransactions = group{"transactions", []test{
	{"an error rolls back and is returned unchanged", func(f *fixture) {
		id := f.create("one")
		mine := errors.New("mine")
		key := board.Key{Principal: "p", Key: "k", Op: "op", Hash: "h"}
		err := f.store.Write(f.ctx, func(tx board.Tx) error {
			if _, err := tx.Once(key); err != nil {
				return err
			}
			if err := tx.PutProject(board.Project{Slug: "ghost"}); err != nil {
				return err
			}
			ts, err := tx.Lock(id)
			if err != nil {
				return err
			}
			ts[0].Title, ts[0].Seq = "changed", ts[0].Seq+1
			if err := tx.UpdateTask(ts[0], ts[0].Seq-1); err != nil {
				return err
			}
			if err := tx.Append(board.Event{Task: id, Seq: ts[0].Seq, Kind: board.EventEdited}); err != nil {
				return err
			}
			if claims, err := tx.Claim(board.Want{Projects: []string{project}, For: claimants("w"), Lease: time.Minute}); err != nil || len(claims) != 1 {
				return fmt.Errorf("claim: %v, %w", claims, err)
			}
			return mine
		})
		if err != mine {
			f.Errorf("Write = %v, want the function's own error", err)
		}
		_, err = f.board.Project(f.ctx, "ghost")
		f.is("project of an undone transaction", err, board.ErrNotFound)
		d := f.get(id)
		f.equal("task", words(d.Task.Title, d.Task.Seq, d.Task.Status, d.Claim == nil, len(d.Attempts), len(d.Events)), "one 1 pending true 0 1")
		f.write(func(tx board.Tx) error {
			kept, err := tx.Once(key)
			if kept != nil {
				f.Errorf("Once = %+v, want the key to be free after an undone transaction", kept)
			}
			return err
		})
	}},
	{"a transaction reads what it wrote", func(f *fixture) {
		id := f.create("one")
		f.write(func(tx board.Tx) error {
			claims, err := tx.Claim(board.Want{Projects: []string{project}, For: claimants("w"), Lease: time.Minute})
			if err != nil || len(claims) != 1 {
				return fmt.Errorf("claim: %v, %w", claims, err)
			}
			t, err := tx.Task(id)
			if err != nil {
				return err
			}
			c, err := tx.LiveClaim(id)
			f.equal("in the transaction", words(t.Status, t.Attempt, c.Handle), words(board.InProgress, 1, claims[0].Handle))
			return err
		})
	}},
	{"a panic rolls back and does not block the store", func(f *fixture) {
		func() {
			defer func() { recover() }()
			f.store.Write(f.ctx, func(tx board.Tx) error {
				if err := tx.PutProject(board.Project{Slug: "ghost"}); err != nil {
					return err
				}
				panic("mine")
			})
		}()
		f.create("still works")
		_, err := f.board.Project(f.ctx, "ghost")
		f.is("project of a transaction that panicked", err, board.ErrNotFound)
	}},
	{"a key is stored once and keeps its answer", func(f *fixture) {
		key := board.Key{Principal: "p", Key: "k", Op: "op", Hash: "h"}
		f.write(func(tx board.Tx) error {
			kept, err := tx.Once(key)
			if err != nil || kept != nil {
				return fmt.Errorf("first Once = %v, %w", kept, err)
			}
			return tx.Keep(key, "answer")
		})
		other := key
		other.Op, other.Hash = "op2", "h2"
		f.write(func(tx board.Tx) error {
			kept, err := tx.Once(other)
			if err != nil || kept == nil {
				return fmt.Errorf("second Once = %v, %w", kept, err)
			}
			f.equal("kept", *kept, board.Kept{Op: "op", Hash: "h", Answer: "answer"})
			return nil
		})
		key.Principal = "q"
		f.write(func(tx board.Tx) error {
			kept, err := tx.Once(key)
			if kept != nil {
				f.Errorf("Once of another principal = %+v, want the key to be free", kept)
			}
			return err
		})
	}},
	{"of concurrent transactions with one key, one stores it", func(f *fixture) {
		const n = 8
		var wg sync.WaitGroup
		var mu sync.Mutex
		first := 0
		for i := range n {
			wg.Go(func() {
				mine := false
				err := f.store.Write(f.ctx, func(tx board.Tx) error {
					k := board.Key{Principal: "p", Key: "k", Op: "op", Hash: "h"}
					kept, err := tx.Once(k)
					if mine = kept == nil; err != nil || !mine {
						return err
					}
					return tx.Keep(k, words(i))
				})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					f.Errorf("Write: %v", err)
				} else if mine {
					first++
				}
			})
		}
		wg.Wait()
		f.equal("transactions that took the key", first, 1)
	}},
	{"writers of one task take turns", func(f *fixture) {
		id := f.create("one")
		const n = 8
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				err := f.store.Write(f.ctx, func(tx board.Tx) error {
					ts, err := tx.Lock(id)
					if err != nil {
						return err
					}
					t := ts[0]
					t.Seq++
					t.SpecVersion++
					if err := tx.UpdateTask(t, t.Seq-1); err != nil {
						return err
					}
					return tx.Append(board.Event{Task: id, Seq: t.Seq, Kind: board.EventEdited, From: t.Status, To: t.Status})
				})
				if err != nil {
					f.Errorf("Write: %v", err)
				}
			})
		}
		wg.Wait()
		f.equal("spec_version", f.get(id).Task.SpecVersion, n+1)
	}},
	{"transactions that lock in opposite order recover from deadlocks", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				first, second := a, b
				if i%2 == 0 {
					first, second = b, a
				}
				err := f.store.Write(f.ctx, func(tx board.Tx) error {
					if _, err := tx.Lock(first); err != nil {
						return err
					}
					_, err := tx.Lock(second)
					return err
				})
				if err != nil {
					f.Errorf("Write: %v", err)
				}
			})
		}
		wg.Wait()
	}},
	{"LockProject excludes other transactions", func(f *fixture) {
		var inside atomic.Int32
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				err := f.store.Write(f.ctx, func(tx board.Tx) error {
					if err := tx.LockProject(project); err != nil {
						return err
					}
					defer inside.Add(-1)
					if inside.Add(1) != 1 {
						return errors.New("two are inside")
					}
					return nil
				})
				if err != nil {
					f.Errorf("Write: %v", err)
				}
			})
		}
		wg.Wait()
	}},
	{"ForgetWorkers deletes workers that nothing depends on", func(f *fixture) {
		f.create("a")
		reserved := f.create("b")
		gone, holder, waiting, stopped := f.agent("gone"), f.agent("holder"), f.agent("waiting"), f.agent("stopped")
		holder.next()
		f.reserve(reserved, waiting)
		for _, x := range []*agent{gone, stopped} {
			id := f.create("c")
			x.done(x.take(id, wishing(id)))
		}
		_, err := f.board.Stop(f.ctx, ada, board.WorkerID{Principal: "local", Name: stopped.name})
		f.ok(err)
		known := func() string {
			var names []string
			for _, x := range []*agent{gone, holder, waiting, stopped} {
				f.read(func(r board.Reader) error {
					s, err := r.Standing(board.WorkerID{Principal: "local", Name: x.name})
					if s.Worker.Name != "" {
						names = append(names, x.actor.Owner)
					}
					return err
				})
			}
			return words(names)
		}
		f.write(func(tx board.Tx) error { return tx.ForgetWorkers(time.Hour) })
		f.equal("known after ForgetWorkers(1 h)", known(), "[gone holder waiting stopped]")
		f.write(func(tx board.Tx) error { return tx.ForgetWorkers(-time.Hour) })
		f.equal("known after ForgetWorkers(-1 h)", known(), "[holder waiting stopped]")
	}},
	{"Forget deletes old keys only", func(f *fixture) {
		key := board.Key{Principal: "p", Key: "k", Op: "op", Hash: "h"}
		f.write(func(tx board.Tx) error {
			if _, err := tx.Once(key); err != nil {
				return err
			}
			return tx.Keep(key, "answer")
		})
		known := func() (known bool) {
			errUndo := errors.New("undo")
			err := f.store.Write(f.ctx, func(tx board.Tx) error {
				kept, err := tx.Once(key)
				known = kept != nil
				if err != nil {
					return err
				}
				return errUndo
			})
			f.is("Once", err, errUndo)
			return known
		}
		f.write(func(tx board.Tx) error { return tx.Forget(time.Hour) })
		f.equal("known after Forget(1 h)", known(), true)
		f.write(func(tx board.Tx) error { return tx.Forget(-time.Hour) })
		f.equal("known after Forget(-1 h)", known(), false)
	}},
}}

// claimants returns workers of one process.
func claimants(names ...string) []board.Claimant {
	var cs []board.Claimant
	for _, n := range names {
		cs = append(cs, board.Claimant{Worker: board.WorkerID{Principal: "local", Name: n}, Owner: "process", Session: "s-" + n})
	}
	return cs
}
