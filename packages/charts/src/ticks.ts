// The scale of a plot's axis.

/** Returns the sum of the numbers. */
export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/**
 * Returns the ticks of an axis: whole multiples of 1, 2 or 5 times a power of ten, from 0 to the first not below `most`.
 *
 * @param most the largest value, 0 or more
 * @param steps about how many steps the axis has
 */
export function ticksFor(most: number, steps = 4): number[] {
  const rough = Math.max(most, 1) / steps
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, power * ([1, 2, 5].find(factor => factor * power >= rough) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, index) => index * step)
}
