package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestTable: integers stay integers, names of columns are clean, and a table whose rows do not fit its columns is refused.
func TestTable(t *testing.T) {
	rows := `{"cells":["a",1234567890]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "as=Table") {
			t.Errorf("it accepts %q", r.Header.Get("Accept"))
		}
		_, _ = io.WriteString(w, `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Items\u001b[2J"}],"rows":[`+rows+`]}`)
	}))
	defer server.Close()
	client, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	table, err := client.Table(t.Context(), "/things")
	if err != nil || len(table.Rows) != 1 || table.Rows[0].Cells[1] != int64(1234567890) {
		t.Errorf("%+v, %v", table, err)
	}
	if name := table.ColumnDefinitions[1].Name; name != "Items\uFFFD[2J" {
		t.Errorf("a column is called %q", name)
	}
	for _, rows = range []string{`{"cells":["a"]}`, `{"cells":["a",1,2]}`, `{}`} {
		if _, err := client.Table(t.Context(), "/things"); err == nil || !strings.Contains(err.Error(), "for 2 columns") {
			t.Errorf("%s: %v", rows, err)
		}
	}
}
