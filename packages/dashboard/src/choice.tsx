interface ChoiceProps<Value extends string> {
  id: string
  label: string
  value: Value
  options: readonly (readonly [value: Value, label: string])[]
  onChoice(value: Value): void
}

/** A select element for one of several values, with a label. */
export const Choice = <Value extends string>({ id, label, value, options, onChoice }: ChoiceProps<Value>) => (
  <div class="field">
    <label for={id}>{label}</label>
    <select
      id={id}
      value={value}
      onChange={({ currentTarget }) => onChoice(options[currentTarget.selectedIndex]?.[0] ?? value)}
    >
      {options.map(([option, text]) => (
        <option key={option} value={option} selected={option === value}>
          {text}
        </option>
      ))}
    </select>
  </div>
)
