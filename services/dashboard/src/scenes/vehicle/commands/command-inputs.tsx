import { Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../../common/session/session-context.ts';
import { type CommandField, type CommandType, commandFields } from './command-fields.ts';
import { type CommandForm, isCriticalControl } from './model.ts';

interface CommandInputsProps {
  readonly type: CommandType;
  readonly form: CommandForm;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (form: CommandForm) => void;
}

/** Shows the fields of one command. */
export function CommandInputs({ type, form, faults, onChange }: CommandInputsProps) {
  return commandFields[type].map((field) => (
    <CommandInput
      key={field.name}
      field={field}
      value={form[field.name] ?? ''}
      fault={faults[field.name]}
      onChange={(value) => onChange({ ...form, [field.name]: value })}
    />
  ));
}

interface CommandInputProps {
  readonly field: CommandField;
  readonly value: string | boolean;
  readonly fault: string | undefined;
  readonly onChange: (value: string | boolean) => void;
}

function CommandInput({ field, value, fault, onChange }: CommandInputProps) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const label = t(`param.${field.name}`);
  if (field.kind === 'flag')
    return (
      <Checkbox
        label={label}
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    );
  const common = {
    label,
    value: String(value),
    error: fault === undefined ? undefined : t(`commandFault.${fault}`),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  };
  switch (field.kind) {
    case 'choice': {
      const values = field.values.filter(
        (code) => field.name !== 'command' || !isCriticalControl(code) || can('criticalCommands'),
      );
      const data = values.map((code) => ({ value: String(code), label: t(`value.${field.name}.${code}`) }));
      return <NativeSelect {...common} data={data} />;
    }
    case 'word':
      return (
        <NativeSelect
          {...common}
          data={field.values.map((word) => ({ value: word, label: t(`value.doors.${word}`) }))}
        />
      );
    case 'parameters':
      return <Textarea {...common} description={t('commands.parametersHint')} autosize={false} rows={4} />;
    case 'ids':
      return <TextInput {...common} description={t('commands.idsHint')} />;
    case 'time':
      return <TextInput {...common} type="datetime-local" />;
    case 'number':
      return <TextInput {...common} inputMode="numeric" description={`${field.min}–${field.max}`} />;
    default:
      return field.name === 'text' ? (
        <Textarea {...common} maxLength={field.maxLength} rows={2} />
      ) : (
        <TextInput {...common} maxLength={field.maxLength} />
      );
  }
}
