import { MultiSelect } from '@mantine/core';
import '@mantine/core/styles/Pill.css';
import '@mantine/core/styles/PillsInput.css';

interface RecordSelectProps {
  readonly label: string;
  readonly description?: string;
  readonly records: readonly { readonly id: number; readonly label: string }[];
  readonly value: readonly number[];
  readonly error?: React.ReactNode;
  readonly onChange: (ids: number[]) => void;
}

/** Options that are displayed at once; typing narrows them. */
const maxOptions = 50;

/** Chooses records such as vehicles by their names. */
export function RecordSelect({ label, description, records, value, error, onChange }: RecordSelectProps) {
  return (
    <MultiSelect
      label={label}
      description={description}
      error={error}
      searchable
      hidePickedOptions
      limit={maxOptions}
      data={records.map(({ id, label: name }) => ({ value: String(id), label: name }))}
      value={value.map(String)}
      onChange={(chosen) => onChange(chosen.map(Number))}
    />
  );
}
