package access

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// TestAsWorker: what the table of verbs does not allow a worker is refused, and so are landing and a task
// that is ready at once. There is no board behind: a call that gets there panics.
func TestAsWorker(t *testing.T) {
	refused := errors.New("refused")
	b := AsWorker(nil, refused)
	also := []*Verb{Create, CreateUnder, TakeLead, StepDown, BeginLand, Landed, Dropped, Return, Told}
	for _, v := range Verbs() {
		m := reflect.ValueOf(b).MethodByName(strings.ToUpper(v.Name[:1]) + v.Name[1:])
		if !m.IsValid() || v.Allows(auth.Worker, false) && !slices.Contains(also, v) {
			continue
		}
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		fixed := m.Type().NumIn()
		if m.Type().IsVariadic() {
			fixed--
		}
		for i := 1; i < fixed; i++ {
			in = append(in, reflect.Zero(m.Type().In(i)))
		}
		out := m.Call(in)
		if err, _ := out[len(out)-1].Interface().(error); !errors.Is(err, refused) {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

// TestAsWorker_drafts: drafts, and a plan that is only looked at, reach the board.
func TestAsWorker_drafts(t *testing.T) {
	ctx, store := t.Context(), &drafts{}
	b := AsWorker(store, errors.New("refused"))
	_, _, err1 := b.Create(ctx, board.Actor{}, board.NewTask{Hold: true}, "")
	_, _, err2 := b.CreateUnder(ctx, board.Actor{}, board.Handle{}, board.NewTask{Hold: true}, "")
	_, err3 := b.CreatePlan(ctx, board.Actor{}, board.Plan{Hold: true})
	_, err4 := b.CreatePlan(ctx, board.Actor{}, board.Plan{DryRun: true})
	if err := errors.Join(err1, err2, err3, err4); err != nil || store.made != 4 {
		t.Errorf("%d of 4 reached the board: %v", store.made, err)
	}
}

// drafts counts what is made.
type drafts struct {
	Board
	made int
}

func (d *drafts) Create(context.Context, board.Actor, board.NewTask, string) (board.Task, board.Doc, error) {
	d.made++
	return board.Task{}, board.Doc{}, nil
}

func (d *drafts) CreateUnder(context.Context, board.Actor, board.Handle, board.NewTask, string) (board.Task, board.Doc, error) {
	d.made++
	return board.Task{}, board.Doc{}, nil
}

func (d *drafts) CreatePlan(context.Context, board.Actor, board.Plan) (board.Planned, error) {
	d.made++
	return board.Planned{}, nil
}
