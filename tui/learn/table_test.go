package learn

import (
	"strings"
	"testing"
)

// TestTables: a table that is too wide for the page becomes a list, one that fits stays, and so does all else.
func TestTables(t *testing.T) {
	const status = `ENDPOINT                VERSION        DB    IN USE  STATE
http://127.0.0.1:26202  3.7.3    36.0 KiB  20.0 KiB  leader
http://127.0.0.1:26204  3.7.3    28.0 KiB  20.0 KiB  follower`
	const parts = `NAME     STATUS    MESSAGE   ERROR
etcd-0   Healthy   ok
done`
	const wide = `NAME   TITLE    STATUS   MESSAGE
甲      秋天的第一个   Ready
乙      冬天       Healthy  下雪了`
	for name, test := range map[string]struct {
		in   string
		w    int
		want string
	}{
		"numbers at the right": {status, 40, `ENDPOINT http://127.0.0.1:26202
    VERSION 3.7.3  DB 36.0 KiB
    IN USE 20.0 KiB  STATE leader
ENDPOINT http://127.0.0.1:26204
    VERSION 3.7.3  DB 28.0 KiB
    IN USE 20.0 KiB  STATE follower`},
		"room":          {status, 80, status},
		"an empty cell": {parts, 30, "NAME etcd-0  STATUS Healthy\n    MESSAGE ok\ndone"},
		"an empty cell behind wide characters": {wide, 20, `NAME 甲
    TITLE 秋天的第一
    个
    STATUS Ready
NAME 乙  TITLE 冬天
    STATUS Healthy
    MESSAGE 下雪了`},
		"a line of capitals alone": {"NOT  FOUND\n\nNAME  STATUS\n\nrow  of", 8, "NOT\nFOUND\n\nNAME\nSTATUS\n\nrow  of"},
	} {
		got := strings.Join(fitOutput(strings.Split(test.in, "\n"), test.w), "\n")
		if got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, test.want)
		}
	}
}
