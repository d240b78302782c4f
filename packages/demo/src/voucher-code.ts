import { hash32, type Random } from './random.ts'

/** 32 characters, without characters that look similar. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

const halfBits = 20
const halfMask = 2 ** halfBits - 1

const encodeHalf = (half: number) => [15, 10, 5, 0].map(shift => alphabet.charAt((half >>> shift) & 31)).join('')

/** Scatters a number with a Feistel network: each of the 2^40 numbers gets a different pair of halves. */
function scatter(number: number, key: number): [number, number] {
  let left = Math.floor(number / 2 ** halfBits)
  let right = number % 2 ** halfBits
  for (let round = 0; round < 4; round++) {
    const next = left ^ (hash32(right ^ hash32(key + round)) & halfMask)
    left = right
    right = next
  }
  return [left, right]
}

/**
 * Returns the reference of a voucher, for example `GIFT-7K3M-9QXA`. References are unique even when case is ignored.
 *
 * @param row the row number of the voucher, from 0 to 2^40 - 1
 */
export function referenceOf(row: number): string {
  const [left, right] = scatter(row, 0x6769)
  return `GIFT-${encodeHalf(left)}-${encodeHalf(right)}`
}

/**
 * Returns the QR token of a voucher: 24 lower-case letters and digits, unique.
 *
 * @param row the row number of the voucher, from 0 to 2^40 - 1
 */
export function qrTokenOf(row: number, random: Random): string {
  const [left, right] = scatter(row, 0x7172)
  const tail = () => encodeHalf(random.below(2 ** halfBits))
  return (encodeHalf(left) + encodeHalf(right) + tail() + tail() + tail() + tail()).toLowerCase()
}
