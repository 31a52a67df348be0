import { NativeSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { placeColors } from '../theme/tokens.ts';

const names = Object.keys(placeColors) as (keyof typeof placeColors)[];

interface ColorFieldProps {
  /** Empty for the colour of the page. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Chooses the colour of a place. A stored colour that is not in the list stays. */
export function ColorField({ value, onChange }: ColorFieldProps) {
  const { t } = useTranslation('places');
  const isKnown = value === '' || names.some((name) => placeColors[name] === value);
  return (
    <NativeSelect
      label={t('colorLabel')}
      leftSection={<span className="places-swatch" style={value === '' ? undefined : { background: value }} />}
      data={[
        { value: '', label: t('noColor') },
        ...names.map((name) => ({ value: placeColors[name] as string, label: t(`color.${name}`) })),
        ...(isKnown ? [] : [{ value, label: value }]),
      ]}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
