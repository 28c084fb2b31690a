package board

import (
	"fmt"
	"slices"
)

// whyLanding says what a task in the landing queue waits for.
func whyLanding(r Reader, p Project, d Dossier) ([]Reason, error) {
	queue, err := r.Queued(p.Slug, MaxQueue)
	if err != nil {
		return nil, err
	}
	open, err := r.Intents(IntentFilter{Project: p.Slug, Task: d.Task.ID, State: IntentOpen, Limit: 1})
	if err != nil {
		return nil, err
	}
	lander, err := r.Lander(p.Slug, p.Land)
	if err != nil {
		return nil, err
	}
	place := "behind the first " + fmt.Sprint(len(queue))
	if i := slices.IndexFunc(queue, func(q Queued) bool { return q.Task.ID == d.Task.ID }); i >= 0 {
		place = fmt.Sprintf("number %d of %d", i+1, len(queue))
		if len(queue) == MaxQueue {
			place = fmt.Sprintf("number %d", i+1)
		}
	}
	out := []Reason{{Code: WhyLanding, Text: fmt.Sprintf("Its work was accepted and waits to be landed on %s: it is %s in the queue.", p.Land, place)}}
	switch {
	case len(open) > 0:
		out = []Reason{{Code: WhyLanding, Text: fmt.Sprintf("%q is just landing it on %s.", open[0].Holder, p.Land)}}
	case lander.Until.After(d.Now):
		out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("%q lands on %s.", lander.Holder, p.Land)})
	default:
		out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("Nobody lands on %s now.", p.Land)})
	}
	target, err := ParseTarget(p.Land)
	if n := len(d.Attempts); err == nil && target.Kind == TargetLocal && n > 0 && d.Attempts[n-1].Where.Host != "" {
		out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("Only the repository that has its work can land it, which is on %q.", d.Attempts[n-1].Where.Host)})
	}
	return out, nil
}
