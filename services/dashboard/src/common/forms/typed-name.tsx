import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';

interface TypedNameProps {
  /** The name that must be typed. */
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Returns whether a text is the name, regardless of case and spaces. */
export const isTypedName = (name: string, text: string): boolean => {
  const normalize = (value: string) => value.replaceAll(/\s/g, '').toLowerCase();
  return normalize(name) === normalize(text);
};

/** Shows a field that confirms an action without undo: the name of the record must be typed. */
export function TypedName({ name, value, onChange }: TypedNameProps) {
  const { t } = useTranslation();
  return (
    <TextInput
      label={t('form.typeName', { name })}
      autoComplete="off"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
