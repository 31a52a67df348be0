import { NativeSelect, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { contactFields, type DriverField, type DriverForm, dateFields, licenceFields, personFields } from '../model.ts';
import type { ReadField } from '../reading.ts';

interface DriverFieldsProps {
  readonly form: UseFormReturnType<DriverForm>;
  /** Fields that were read from a document, which the user must check. */
  readonly read: Partial<Record<DriverField, ReadField>>;
}

type TextField = Exclude<DriverField, 'status'>;

/** Shows the fields of a driver: person, licence, emergency contact. */
export function DriverFields({ form, read }: DriverFieldsProps) {
  const { t } = useTranslation('drivers');
  const props = (field: TextField) => {
    // A value that the user has changed is no longer that of the document.
    const found = read[field]?.value === form.values[field] ? read[field] : undefined;
    return {
      label: t(`field.${field}`),
      ...(found === undefined ? {} : { description: t('read.sure', { percent: Math.round(found.confidence * 100) }) }),
      ...form.getInputProps(field),
    };
  };
  const input = (field: TextField) =>
    field === 'notes' ? (
      <Textarea key={field} rows={3} {...props(field)} />
    ) : (
      <TextInput
        key={field}
        type={dateFields.has(field) ? 'date' : 'text'}
        required={field === 'name'}
        {...(field === 'name' ? { 'data-autofocus': true } : {})}
        {...props(field)}
      />
    );
  const section = (name: 'contact' | 'licence' | 'person', fields: readonly TextField[]) => (
    <fieldset className="driver-fields">
      <legend>{t(`section.${name}`)}</legend>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        {fields.map(input)}
        {name === 'contact' ? (
          <NativeSelect
            label={t('field.status')}
            data={(['active', 'inactive'] as const).map((value) => ({ value, label: t(`status.${value}`) }))}
            {...form.getInputProps('status')}
          />
        ) : null}
      </SimpleGrid>
    </fieldset>
  );
  return (
    <>
      {section('contact', contactFields)}
      {section('licence', licenceFields)}
      {section('person', [...personFields, 'emergency_name', 'emergency_phone'])}
    </>
  );
}
