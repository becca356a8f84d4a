package service

import (
	"net/netip"
	"testing"
)

func TestAddressRange(t *testing.T) {
	for spec, want := range map[string]struct {
		first        string
		size, static int
	}{
		"10.96.0.0/12":  {"10.96.0.1", 1<<20 - 2, 256},
		"10.0.0.0/24":   {"10.0.0.1", 254, 16},
		"10.0.0.128/28": {"10.0.0.129", 14, 0},
		"10.0.0.5/30":   {"10.0.0.5", 2, 0},
	} {
		r := addressRange{Prefix: netip.MustParsePrefix(spec)}
		if got := numberIP(r.first()).String(); got != want.first || r.size() != want.size || r.static() != want.static {
			t.Errorf("%s: %s, %d, %d; want %+v", spec, got, r.size(), r.static(), want)
		}
	}
	r := addressRange{Prefix: netip.MustParsePrefix("10.0.0.128/28")}
	for ip, want := range map[string]bool{
		"10.0.0.127": false, "10.0.0.128": false, "10.0.0.129": true, "10.0.0.142": true, "10.0.0.143": false, "fd00::1": false,
	} {
		if got := r.has(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s has %s: %v", r, ip, got)
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
