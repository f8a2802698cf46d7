package rpc

import (
	"context"
	"testing"
)

// Whole numbers of tensors and parameters reach the message digit for digit.
func TestDigitsReachTheMessage(t *testing.T) {
	t.Parallel()
	const body = `{"parameters":{"seed":9007199254740993,"share":0.5,"two":2.0},"inputs":[` +
		`{"name":"a","datatype":"INT64","shape":[2],"data":[-9007199254740993,9223372036854775807]},` +
		`{"name":"b","datatype":"UINT64","shape":[1],"data":[18446744073709551615]}]}`
	m, err := NewMethods(nil).Find(context.Background(), "/v2/models/m/infer")
	if err == nil {
		_, err = m.Encode([]byte(`{"parameters":{"x":1e999}}`))
		if err == nil {
			t.Error("a number without place was taken")
		}
		var message []byte
		if message, err = m.Encode([]byte(body)); err == nil {
			var back []byte
			_, back, err = DecodeRequest(message)
			want := `{"parameters":{"seed":9007199254740993,"share":0.5,"two":2},"inputs":[` +
				`{"name":"a","datatype":"INT64","shape":[2],"data":[-9007199254740993,9223372036854775807]},` +
				`{"name":"b","datatype":"UINT64","shape":[1],"data":[18446744073709551615]}]}`
			if string(back) != want {
				t.Errorf("got  %s\nwant %s", back, want)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
