package crew

import (
	"fmt"

	"github.com/bossman-dev/bossman/crew/agent"
)

// A session is what an agent calls its conversation about a task.
type session struct {
	Task    string `json:"task,omitzero"`
	Attempt int    `json:"attempt,omitzero"`
	Agent   string `json:"agent,omitzero"`
	ID      string `json:"id,omitzero"`
	// Used is what it has used, in all attempts.
	Used agent.Usage `json:"used,omitzero"`
}

// earlier is the session in which the job's agent worked on the task here before, if it was only
// interrupted, and nobody has worked on it since.
func (j *job) earlier() session {
	if k := j.kept.Session; !j.isReview() && k.Task == j.kept.Task && k.Attempt+1 >= j.kept.Attempt && k.Agent == j.agent.Name() {
		return k
	}
	return session{}
}

// converse remembers the session that an event tells of, and what it has used. It returns the event
// with what was used in this attempt. Claude Code tells its session at the beginning of each turn.
func (j *job) converse(e agent.Event) agent.Event {
	if e.Kind == agent.Started && e.Session != j.session {
		j.session = e.Session
		next := session{Task: j.kept.Task, Attempt: j.kept.Attempt, Agent: j.agent.Name(), ID: e.Session}
		if before := j.earlier(); before.ID == e.Session {
			next.Used = before.Used
		}
		j.kept.Session, j.used = next, next.Used
		j.noteSession()
	}
	if e.Usage != nil {
		j.kept.Session.Used = *e.Usage
		since := e.Usage.Since(j.used)
		e.Usage = &since
	}
	return e
}

// hangUp ends the session, unless it is to be gone on with.
func (j *job) hangUp(goOn bool) {
	if !goOn {
		j.kept.Session = session{}
	}
	j.noteSession()
}

func (j *job) noteSession() {
	if err := j.keep(); err != nil {
		j.tell(Trouble, fmt.Sprintf("the session could not be noted: %v", err))
	}
}
