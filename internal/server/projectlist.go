package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// projectsFor is how long the list of projects is good.
const projectsFor = 2 * time.Second

// A projectList is the projects of a server, for keys that are good in every one.
type projectList struct {
	home  string // a file's project, which the first write makes
	board interface {
		Projects(context.Context) ([]board.Project, error)
	}

	mu   sync.Mutex
	at   time.Time
	last []string
}

func (l *projectList) slugs(ctx context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < projectsFor {
		return l.last, nil
	}
	all, err := l.board.Projects(ctx)
	if errors.Is(err, board.ErrUnavailable) && l.last != nil {
		return l.last, nil // what is then done with it says that the board is away
	}
	if err != nil {
		return nil, err
	}
	l.last = make([]string, 0, len(all))
	for _, p := range all {
		l.last = append(l.last, p.Slug)
	}
	if l.home != "" && !slices.Contains(l.last, l.home) {
		l.last = append(l.last, l.home)
	}
	l.at = time.Now()
	return l.last, nil
}
