import { type Draw, mix } from './random.ts'

/** 32 signs, none of which is easily taken for another. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

const halfBits = 20
const halfMask = 2 ** halfBits - 1

function spell(half: number): string {
  return (
    alphabet.charAt(half >>> 15) +
    alphabet.charAt((half >>> 10) & 31) +
    alphabet.charAt((half >>> 5) & 31) +
    alphabet.charAt(half & 31)
  )
}

/** A Feistel network: whatever its round function, no two of the 2^40 numbers give the same two halves. */
function scatter(number: number, key: number): [number, number] {
  let left = Math.floor(number / 2 ** halfBits)
  let right = number % 2 ** halfBits
  for (let round = 0; round < 4; round++) {
    const next = left ^ (mix(right ^ mix(key + round)) & halfMask)
    left = right
    right = next
  }
  return [left, right]
}

/**
 * @param row the number of the voucher, from 0 up to 2^40 - 1
 * @returns its reference, another for each number also when case is ignored: `GIFT-7K3M-9QXA`
 */
export function referenceOf(row: number): string {
  const [left, right] = scatter(row, 0x6769)
  return `GIFT-${spell(left)}-${spell(right)}`
}

/**
 * @param row the number of the voucher, from 0 up to 2^40 - 1
 * @returns its QR token, another for each number: 24 small letters and digits
 */
export function qrTokenOf(row: number, draw: Draw): string {
  const [left, right] = scatter(row, 0x7172)
  const tail = () => spell(draw.below(2 ** halfBits))
  return (spell(left) + spell(right) + tail() + tail() + tail() + tail()).toLowerCase()
}
