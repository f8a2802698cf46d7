package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// View is the window that a page is seen through.
type View struct {
	Width, Height int
	Dark          bool
	Print         bool // as on paper
}

// Page is one page that is shown.
type Page struct {
	b               *Browser
	session, target string
	loaded          chan struct{}

	mu       sync.Mutex
	said     []string
	requests []string
}

type object map[string]any

// Open shows the page at address and waits until it is complete.
func (b *Browser) Open(address string, v View) (*Page, error) {
	var made struct{ TargetID string }
	if err := b.ask("", "Target.createTarget", object{"url": "about:blank"}, &made); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	if err := b.ask("", "Target.attachToTarget", object{"targetId": made.TargetID, "flatten": true},
		&attached); err != nil {
		return nil, err
	}
	p := &Page{b: b, session: attached.SessionID, target: made.TargetID, loaded: make(chan struct{}, 1)}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := p.ask(domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	if err := p.Look(v); err != nil {
		return nil, err
	}
	var went struct{ ErrorText string }
	if err := p.ask("Page.navigate", object{"url": address}, &went); err != nil {
		return nil, err
	}
	if went.ErrorText != "" {
		return nil, errors.New(went.ErrorText)
	}
	select {
	case <-p.loaded:
		return p, nil
	case <-b.over:
		return nil, errors.New("the browser ended")
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: not complete after %v", address, patience)
	}
}

func (p *Page) ask(method string, params, to any) error {
	return p.b.ask(p.session, method, params, to)
}

// Look changes the window.
func (p *Page) Look(v View) error {
	media, scheme := "", "light"
	if v.Print {
		media = "print"
	}
	if v.Dark {
		scheme = "dark"
	}
	features := []object{{"name": "prefers-color-scheme", "value": scheme}}
	return errors.Join(
		p.ask("Emulation.setDeviceMetricsOverride", object{
			"width": v.Width, "height": v.Height,
			"deviceScaleFactor": 1, "mobile": v.Width < 600,
		}, nil),
		p.ask("Emulation.setEmulatedMedia", object{"media": media, "features": features}, nil))
}

// Close takes the page away.
func (p *Page) Close() error {
	return p.b.ask("", "Target.closeTarget", object{"targetId": p.target}, nil)
}

// heard takes an event in. It belongs to the listener's goroutine.
func (p *Page) heard(method string, params json.RawMessage) {
	var e struct {
		Type             string
		Args             []struct{ Value, Description any }
		Entry            struct{ Level, Text string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Request struct{ URL string }
	}
	_ = json.Unmarshal(params, &e) // events of another shape are not looked at
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.consoleAPICalled":
		line := e.Type + ":"
		for _, a := range e.Args {
			if a.Value == nil {
				a.Value = a.Description
			}
			line += fmt.Sprint(" ", a.Value)
		}
		p.said = append(p.said, line)
	case "Runtime.exceptionThrown":
		p.said = append(p.said, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		p.said = append(p.said, e.Entry.Level+": "+e.Entry.Text)
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	}
}

// Said are the lines of the console, mistakes of scripts and breaches of the
// page's policy included.
func (p *Page) Said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// Requests are the addresses that were asked for, the page's own among them.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Eval runs a script in the page, waits for it, and decodes what it gives into
// to, unless that is nil.
func (p *Page) Eval(script string, to any) error {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.ask("Runtime.evaluate", object{"expression": script, "returnByValue": true, "awaitPromise": true}, &got)
	if err != nil {
		return err
	}
	if x := got.ExceptionDetails; x != nil {
		return errors.New(x.Text + " " + x.Exception.Description)
	}
	if to == nil {
		return nil
	}
	return json.Unmarshal(got.Result.Value, to)
}

// Point is a place of the window, in its pixels.
type Point struct{ X, Y float64 }

// Middle brings what a selector finds first into view and gives its middle.
func (p *Page) Middle(selector string) (Point, error) {
	var at *Point
	quoted, err := json.Marshal(selector)
	if err != nil {
		return Point{}, err
	}
	err = p.Eval(`(() => { const el = document.querySelector(`+string(quoted)+`); if (!el) return null;
		el.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const r = el.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, &at)
	if err == nil && at == nil {
		err = fmt.Errorf("nothing matches %s", selector)
	}
	if err != nil {
		return Point{}, err
	}
	return *at, nil
}

// Click presses the mouse on what a selector finds first.
func (p *Page) Click(selector string) error {
	at, err := p.Middle(selector)
	if err != nil {
		return err
	}
	return p.Drag(at, at)
}

// Move brings the mouse there.
func (p *Page) Move(to Point) error { return p.mouse("mouseMoved", to, "none", 0) }

// Drag presses the mouse at one place and lets it go at another.
func (p *Page) Drag(from, to Point) error {
	return errors.Join(p.Move(from), p.mouse("mousePressed", from, "left", 1), p.mouse("mouseMoved", to, "left", 1),
		p.mouse("mouseReleased", to, "left", 0))
}

func (p *Page) mouse(kind string, at Point, button string, held int) error {
	return p.ask("Input.dispatchMouseEvent", object{
		"type": kind, "x": at.X, "y": at.Y,
		"button": button, "buttons": held, "clickCount": 1,
	}, nil)
}

// keyCodes are what a browser knows keys by that have no character.
var keyCodes = map[string]int{"Enter": 13, "Escape": 27, "Tab": 9, " ": 32}

// Press presses keys, each by its name: Enter, Escape, Tab, +, a.
func (p *Page) Press(keys ...string) error {
	for _, k := range keys {
		e := object{"type": "keyDown", "key": k, "windowsVirtualKeyCode": keyCodes[k]}
		if len(k) == 1 {
			e["text"] = k
		} else if k == "Enter" {
			e["text"] = "\r"
		}
		up := object{"type": "keyUp", "key": k, "windowsVirtualKeyCode": keyCodes[k]}
		if err := errors.Join(p.ask("Input.dispatchKeyEvent", e, nil),
			p.ask("Input.dispatchKeyEvent", up, nil)); err != nil {
			return err
		}
	}
	return nil
}

// Type types text.
func (p *Page) Type(text string) error { return p.Press(strings.Split(text, "")...) }

// Clip is a part of a page, in pixels; the zero value is all of it.
type Clip struct{ X, Y, Width, Height float64 }

// Picture is a PNG of a part of the page, seen or not.
func (p *Page) Picture(c Clip) ([]byte, error) {
	if c == (Clip{}) {
		if err := p.Eval(`({Width: document.documentElement.clientWidth, Height: document.documentElement.scrollHeight})`, &c); err != nil {
			return nil, err
		}
	}
	var got struct{ Data []byte }
	err := p.ask("Page.captureScreenshot", object{
		"format": "png", "captureBeyondViewport": true,
		"clip": object{"x": c.X, "y": c.Y, "width": c.Width, "height": min(c.Height, 16000), "scale": 1},
	}, &got)
	return got.Data, err
}

// Paper is the page as it is printed, a PDF of A4.
func (p *Page) Paper() ([]byte, error) {
	var got struct{ Data []byte }
	err := p.ask("Page.printToPDF", object{"paperWidth": 8.27, "paperHeight": 11.69}, &got)
	return got.Data, err
}
