package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/words"
)

// Asks is the rule in words.
func (r *Rule) Asks() string {
	switch r.Kind {
	case Duration:
		if r.Until == Answered {
			return "answers come for at least " + r.Least.words()
		}
		return "requests are sent for at least " + r.Least.words()
	case Requests:
		return "at least " + r.Least.words() + " requests end well"
	case Trials:
		return "at least " + r.Least.words() + " trials"
	case LoadLaw:
		return "the load is " + or(r.Is)
	case Setting:
		return fmt.Sprintf("%s is %v", r.Path, r.Want)
	case Repeated:
		return "one prompt sent again and again is less than " + r.Most.words() + " faster than different ones"
	case Measurement:
		return "the measurement is " + or(r.Is)
	case EarlyStop:
		said := fmt.Sprintf("%s of requests keep ", share(r.Share))
		if r.Metric == Limits {
			said += "the limits of slos"
		} else {
			said += r.Metric + " ≤ " + r.Most.words()
		}
		said += fmt.Sprintf(", %s certain", share(r.Confidence))
		if r.Tolerance > 0 {
			said += " within " + share(r.Tolerance)
		}
		return said
	default:
		return r.Metric + " " + r.Stat + " " + r.ends()
	}
}

// ends are the bounds of a figure.
func (r *Rule) ends() string {
	switch {
	case r.Least == nil:
		return "≤ " + r.Most.words()
	case r.Most == nil:
		return "≥ " + r.Least.words()
	}
	return "from " + r.Least.words() + " to " + r.Most.words()
}

func or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// words are a bound as people read it.
func (b *Bound) words() string {
	if b.Name != "" {
		return "$" + b.Name
	}
	return quantityText(b.Value, b.Unit)
}

func quantityText(v float64, unit string) string {
	switch unit {
	case ratioUnit:
		return share(v)
	case "s":
		return seconds(v)
	case countUnit, "":
		return plain(v)
	}
	return plain(v) + " " + unit
}

func seconds(v float64) string { return plain(v) + " s" }

// share is a share in per cent: 99 %, 0.37 %.
func share(v float64) string { return plain(100*v) + " %" }

// plain is a whole number as it is, and another one in three digits.
func plain(v float64) string {
	if near := math.Round(v); math.Abs(v-near) < 1e-9*math.Abs(v) && math.Abs(v) < 1e15 || v == 0 {
		return words.Whole(int64(near))
	}
	return words.Number(v)
}

// plainly is a number as a flag takes it.
func plainly(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
