const quarterHour = () => Math.floor(Date.now() / 900_000)

/** Runs a check, and once more when it fails while a day may have ended: in every time zone at a quarter of an hour. */
export async function onOneDay(check: () => Promise<void>): Promise<void> {
  const before = quarterHour()
  try {
    await check()
  } catch (error) {
    if (quarterHour() === before) throw error
    await check()
  }
}
