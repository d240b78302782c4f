/** A place in a list. An object with these fields can be in one list at a time. */
export interface Linked<Item> {
  previous: Item | null
  next: Item | null
}

/** A list from which an item is removed in constant time, wherever it stands. */
export class LinkedList<Item extends Linked<Item>> {
  /** The item that was added before all others. */
  first: Item | null = null
  length = 0
  #last: Item | null = null

  /** Adds an item that is in no list to the end. */
  push(item: Item): void {
    item.previous = this.#last
    item.next = null
    if (this.#last) this.#last.next = item
    else this.first = item
    this.#last = item
    this.length++
  }

  /** Removes an item of this list. */
  remove(item: Item): void {
    const { previous, next } = item
    if (previous) previous.next = next
    else this.first = next
    if (next) next.previous = previous
    else this.#last = previous
    this.length--
  }
}
