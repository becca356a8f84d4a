package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/screen"
)

// recordingFacts tells in the header what the server lets the screen do.
func (m *model) recordingFacts() []string {
	r := m.held.View().Recording
	if !r.Known {
		return nil
	}
	say := m.theme.Words.Phrase
	var facts []string
	switch {
	case r.All:
	case r.Objects:
		facts = append(facts, m.theme.Notice(say("objects until %s", r.Until.In(m.options.Zone).Format("15:04"))))
	default:
		facts = append(facts, m.theme.Dim(say("objects off")))
	}
	if !r.Breakpoints {
		facts = append(facts, m.theme.Dim(say("breakpoints off")))
	}
	return facts
}

// whyNoRecording returns the reason why recordings can't be made or ended; empty if they can.
func (m *model) whyNoRecording() string {
	switch why := m.client.Absent(); {
	case why != "":
		return why
	case !m.held.View().Recording.Known:
		return "this server does not say what it records: it is an older kx, or none, or you may not see it"
	case m.held.View().Recording.All:
		return "this server records the objects of all requests"
	}
	return ""
}

// toggleRecording makes a recording, or ends all recordings.
func (m *model) toggleRecording() tea.Cmd {
	if m.held.View().Recording.Objects {
		end := func() (struct{}, error) { return struct{}{}, m.held.EndRecordings(m.ctx) }
		return screen.Do(host{m}, end, func(_ struct{}, err error) tea.Cmd {
			if err != nil {
				m.complain(err.Error())
				return nil
			}
			m.say(m.theme.Words.Phrase("objects are no longer recorded, but for requests that ask for it"))
			return nil
		})
	}
	begin := func() (*v1alpha1.Recording, error) { return m.held.Record(m.ctx) }
	return screen.Do(host{m}, begin, func(r *v1alpha1.Recording, err error) tea.Cmd {
		if err != nil {
			m.complain(err.Error())
			return nil
		}
		until := r.Status.Until.In(m.options.Zone).Format(time.TimeOnly)
		m.say(m.theme.Words.Phrase("the objects of all requests are recorded until %s", until))
		return nil
	})
}
