package service

import (
	"testing"
)

func TestParseIPs(t *testing.T) {
	for spec, want := range map[string]struct {
		first        string
		size, static int
	}{
		"10.96.0.0/12":  {"10.96.0.1", 1<<20 - 2, 256},
		"10.0.0.0/24":   {"10.0.0.1", 254, 16},
		"10.0.0.128/28": {"10.0.0.129", 14, 0},
		"10.0.0.5/30":   {"10.0.0.5", 2, 0},
	} {
		s, err := parseIPs(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if got := numberIP(s.first).String(); got != want.first || s.size != want.size || s.static != want.static {
			t.Errorf("%s: %s, %d, %d; want %+v", spec, got, s.size, s.static, want)
		}
	}
	for _, spec := range []string{"", "10.0.0.0", "10.0.0.0/31", "fd00::/108", "x"} {
		if _, err := parseIPs(spec); err == nil {
			t.Errorf("%q is accepted", spec)
		}
	}
}

func TestParsePorts(t *testing.T) {
	s, err := parsePorts("30000-32767")
	if err != nil || s.first != 30000 || s.size != 2768 || s.static != 86 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, spec := range []string{"", "30000", "30000-", "-1", "0-5", "5-4", "1-70000"} {
		if _, err := parsePorts(spec); err == nil {
			t.Errorf("%q is accepted", spec)
		}
	}
}

func TestIndex(t *testing.T) {
	s, err := parsePorts("100-199")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[uint32]bool{99: false, 100: true, 199: true, 200: false, 0: false, 1<<32 - 1: false} {
		if _, ok := s.index(n); ok != want {
			t.Errorf("%d: %v", n, ok)
		}
	}
}
