import { Button, Checkbox, Group, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { vehicleStates } from '../../../common/live/protocol.ts';
import type { Names } from '../csv-model.ts';
import {
  type ColumnName,
  columnNames,
  defaultColumns,
  parseColumns,
  parseVehiclesSearch,
  type VehiclesSearch,
} from '../search.ts';

interface ToolbarProps {
  readonly search: VehiclesSearch;
  readonly onChange: (search: VehiclesSearch) => void;
  readonly names: Names;
}

/** Shows the filters and columns of the table. */
export function Toolbar({ search, onChange, names }: ToolbarProps) {
  const { t } = useTranslation('vehicles');
  const set = (part: Record<string, unknown>): void => onChange(parseVehiclesSearch({ ...search, ...part }));
  const select = (name: 'state' | 'group' | 'driver', data: readonly { value: string; label: string }[]) => (
    <NativeSelect
      aria-label={t(`filter.${name}`)}
      data={[{ value: '', label: t(`filter.${name}`) }, ...data]}
      value={String(search[name] ?? '')}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
    />
  );
  const toOptions = (items: readonly { id: number; name: string }[]) =>
    items.map(({ id, name }) => ({ value: String(id), label: name }));
  return (
    <Group gap="sm" mb="sm">
      <TextInput
        aria-label={t('search')}
        placeholder={t('search')}
        value={search.q ?? ''}
        onChange={({ currentTarget }) => set({ q: currentTarget.value })}
      />
      {select(
        'state',
        vehicleStates.map((value) => ({ value, label: t(`common:state.${value}`) })),
      )}
      {names.groups.length === 0 ? null : select('group', toOptions(names.groups))}
      {names.drivers.length === 0 ? null : select('driver', toOptions(names.drivers))}
      <ColumnPicker
        visible={parseColumns(search.columns) ?? defaultColumns}
        onChange={(columns) => set({ columns: columns.join('.') })}
      />
    </Group>
  );
}

interface ColumnPickerProps {
  readonly visible: readonly ColumnName[];
  readonly onChange: (columns: readonly ColumnName[]) => void;
}

/** Chooses the columns. The number stays, because it leads to the vehicle. */
function ColumnPicker({ visible, onChange }: ColumnPickerProps) {
  const { t } = useTranslation('vehicles');
  return (
    <Popover position="bottom-start" withinPortal={false}>
      <Popover.Target>
        <Button variant="default">{t('columns')}</Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          {columnNames.map((name) => (
            <Checkbox
              key={name}
              label={t(`column.${name}`)}
              disabled={name === 'number'}
              checked={visible.includes(name)}
              onChange={({ currentTarget }) =>
                onChange(currentTarget.checked ? [...visible, name] : visible.filter((other) => other !== name))
              }
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
