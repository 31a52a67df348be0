import { MultiSelect, SegmentedControl, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../../common/fleet/queries.ts';
import { useNotificationTypes } from './queries.ts';
import '@mantine/core/styles/Pill.css';
import '@mantine/core/styles/PillsInput.css';

const maxOptions = 50;

interface ChoiceProps<T> {
  readonly value?: readonly T[];
  readonly error?: ReactNode;
  readonly onChange?: (value: T[]) => void;
}

interface AllOrChosenProps extends ChoiceProps<string> {
  readonly name: string;
  readonly label: string;
  readonly data: NonNullable<React.ComponentProps<typeof MultiSelect>['data']>;
}

/** Chooses between everything, stored as the empty list, and a list of values. */
function AllOrChosen({ name, label, data, value = [], error, onChange }: AllOrChosenProps) {
  const { t } = useTranslation('profile');
  const [isChosen, setIsChosen] = useState(value.length > 0);
  const choose = (choice: string): void => {
    setIsChosen(choice === 'chosen');
    if (choice === 'all') onChange?.([]);
  };
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        {name}
      </Text>
      <SegmentedControl
        aria-label={name}
        data={[
          { value: 'all', label: t('webhooks.all') },
          { value: 'chosen', label: t('webhooks.chosen') },
        ]}
        value={isChosen ? 'chosen' : 'all'}
        onChange={choose}
      />
      {isChosen ? (
        <MultiSelect
          label={label}
          data={data}
          value={[...value]}
          error={error}
          searchable
          limit={maxOptions}
          required
          clearButtonProps={{ 'aria-label': t('webhooks.clear') }}
          onChange={(chosen) => onChange?.(chosen.map(String))}
        />
      ) : null}
    </Stack>
  );
}

const severities = ['critical', 'warning', 'info'] as const;

/** Chooses the types of events that a webhook receives, grouped by severity. */
export function EventChoice(props: ChoiceProps<string>) {
  const { t } = useTranslation('profile');
  const types = useNotificationTypes();
  const data = severities.map((severity) => ({
    group: t(`common:severity.${severity}`),
    items: (types.data ?? [])
      .filter((type) => type.severity === severity)
      .map(({ type: value, title }) => ({ value, label: title })),
  }));
  return <AllOrChosen name={t('webhooks.events')} label={t('webhooks.chosenEvents')} data={data} {...props} />;
}

/** Chooses the vehicles whose events a webhook receives. */
export function VehicleChoice({ value, onChange, ...rest }: ChoiceProps<number>) {
  const { t } = useTranslation('profile');
  const vehicles = useVehicles();
  const data = (vehicles.data ?? []).map(({ id, vehicle_no: no, name }) => ({
    value: String(id),
    label: name === no ? no : `${no} ${name}`,
  }));
  return (
    <AllOrChosen
      name={t('webhooks.vehicles')}
      label={t('webhooks.chosenVehicles')}
      data={data}
      value={(value ?? []).map(String)}
      onChange={(chosen) => onChange?.(chosen.map(Number))}
      {...rest}
    />
  );
}
