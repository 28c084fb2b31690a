package board

import (
	"fmt"
	"slices"
	"strconv"
)

// whyLanding says what a task in the landing queue waits for.
func whyLanding(r Reader, p Project, d Dossier) ([]Reason, error) {
	line, err := readLine(r, p)
	if err != nil {
		return nil, err
	}
	queue, lander := line.Queue, line.Lander
	named := line.Open != nil && slices.ContainsFunc(line.Open.Items, func(i Item) bool { return i.Task == d.Task.ID })
	place := "behind the first " + fmt.Sprint(len(queue))
	if i := slices.IndexFunc(queue, func(q Queued) bool { return q.Task.ID == d.Task.ID }); i >= 0 {
		place = fmt.Sprintf("number %d of %d", i+1, len(queue))
		if len(queue) == MaxQueue {
			place = fmt.Sprintf("number %d", i+1)
		}
	}
	out := []Reason{{Code: WhyLanding, Text: fmt.Sprintf("Its work was accepted and waits to be landed on %s: it is %s in the queue.", p.Land, place)}}
	switch {
	case named:
		out = []Reason{{Code: WhyLanding, Text: fmt.Sprintf("It is being landed on %s by %s, %q.", p.Land, line.opener().Lander(strconv.Quote), line.Open.Holder)}}
	case lander.Until.After(d.Now):
		out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("Work is being landed on %s by %s, %q.", p.Land, lander.Author().Lander(strconv.Quote), lander.Holder)})
	default:
		out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("Nobody lands on %s now.", p.Land)})
	}
	if note := lander.Note; note != nil {
		if note.Stopped != "" {
			out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("Nothing lands, says %s: %q.", note.StoppedBy.Lander(strconv.Quote), note.Stopped)})
		}
		for _, w := range note.Waits {
			if w.Task == d.Task.ID {
				out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("It waits, says %s: %q.", w.Author.Lander(strconv.Quote), w.Why)})
			}
		}
	}
	target, err := ParseTarget(p.Land)
	if n := len(d.Attempts); err == nil && target.Kind == TargetLocal && n > 0 && d.Attempts[n-1].Where.Host != "" {
		out = append(out, Reason{Code: WhyLanding, Text: fmt.Sprintf("Only the repository that has its work can land it, which is on %q.", d.Attempts[n-1].Where.Host)})
	}
	return out, nil
}

// opener is who began the open move of the target.
func (l Line) opener() Author {
	switch {
	case l.Lander.Nonce == l.Open.Nonce:
		return l.Lander.Author()
	case l.Open.By == localPrincipal:
		return Author{}
	}
	return Author{By: l.Open.By}
}
