package controllertest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Stage is one for a test that is no scene, in a namespace that exists.
func (s *Scenes) Stage(t *testing.T, clients Clients, namespace string) *Stage {
	return &Stage{Clients: clients, T: t, Namespace: namespace, scenes: s}
}

// AwaitPart waits until a line of the state has this text.
func (s *Stage) AwaitPart(text string) {
	s.T.Helper()
	s.await(func(lines []string) bool { return hasPart(lines, text) }, text)
}

// AwaitNot waits until no line of the state has this text.
func (s *Stage) AwaitNot(text string) {
	s.T.Helper()
	s.await(func(lines []string) bool { return !hasPart(lines, text) }, "nothing with "+text)
}

func hasPart(lines []string, text string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, text) })
}

// await waits until what is there is right.
func (s *Stage) await(right func(lines []string) bool, text string) {
	s.T.Helper()
	for deadline := time.Now().Add(Patience); ; {
		lines := s.scenes.State(s)
		if right(lines) {
			return
		}
		s.pause(deadline, lines, text)
	}
}
