const quarterHour = () => Math.floor(Date.now() / 900_000)

/**
 * Runs a check, and repeats it when it fails and a day may have ended meanwhile. In every time zone, a day ends at a
 * quarter of an hour.
 */
export async function onOneDay(check: () => Promise<void>): Promise<void> {
  const before = quarterHour()
  try {
    await check()
  } catch (error) {
    if (quarterHour() === before) throw error
    await check()
  }
}
