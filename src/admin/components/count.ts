/** @returns a number for people: `1,204` */
export const count = (number: number): string => number.toLocaleString('en')
