package receipt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/sinks/receipt"
)

// lengths are distributions of prompts, in tokens, with a mean near 500.
var lengths = []func(r *rand.Rand) float64{
	func(r *rand.Rand) float64 { return 300 + 400*r.Float64() }, // uniform
	func(r *rand.Rand) float64 { return math.Max(1, 500+150*r.NormFloat64()) },
	func(r *rand.Rand) float64 { return 1 + 499*r.ExpFloat64() },
	func(r *rand.Rand) float64 { return math.Exp(6 + 0.7*r.NormFloat64()) },
}

// sentOf is the receipt of a run with n prompts of a distribution, times factor.
func sentOf(r *rand.Rand, n int, of func(r *rand.Rand) float64, factor float64) *receipt.Receipt {
	var sum, squares float64
	for range n {
		v := math.Round(factor * of(r))
		sum += v
		squares += v * v
	}
	mean := sum / float64(n)
	out := receipt.New()
	out.Number("requests.attempted", float64(n))
	out.Number("tokens.input.sent.mean", mean)
	out.Number("tokens.input.sent.sd", math.Sqrt(max(0, squares/float64(n)-mean*mean)))
	return out
}

// worst is the class of the worst difference.
func worst(a, b *receipt.Receipt) (class receipt.Class) {
	for _, d := range receipt.Differences(a, b) {
		if !d.Unknown {
			class = max(class, d.Class)
		}
	}
	return class
}

// Two draws of one distribution are one workload, and what is known to differ is found: half as
// long again is refused from 400 requests on, or else named, and drawn against constant is
// refused at any number.
func TestDrawnLengths(t *testing.T) {
	t.Parallel()
	const pairs = 200
	r := rand.New(rand.NewPCG(1, 2))
	refused, named, same, longer, found, doubted, constant, told := 0, 0, 0, 0, 0, 0, 0, 0
	for _, of := range lengths {
		for _, n := range []int{40, 400, 4000} {
			for range pairs {
				a := sentOf(r, n, of, 1)
				same++
				switch worst(a, sentOf(r, n, of, 1)) {
				case receipt.Fatal:
					refused++
				case receipt.Material:
					named++
				}
				if n >= 400 {
					longer++
					switch worst(a, sentOf(r, n, of, 1.5)) {
					case receipt.Fatal:
						found++
					case receipt.Material:
						doubted++
					}
				}
				constant++
				if worst(a, sentOf(r, n, func(*rand.Rand) float64 { return 500 }, 1)) == receipt.Fatal {
					told++
				}
			}
		}
	}
	t.Logf("of one distribution: %d of %d refused, %d named; half as long again: %d of %d refused, %d named; constant: %d of %d",
		refused, same, named, found, longer, doubted, told, constant)
	if refused > 0 || named > 2 || found < longer*9/10 || found+doubted < longer*97/100 || told < constant {
		t.Error("the limits are off")
	}
}
