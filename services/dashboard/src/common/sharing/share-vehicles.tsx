import { Button, Modal, MultiSelect, Stack } from '@mantine/core';
import '@mantine/core/styles/Pill.css';
import '@mantine/core/styles/PillsInput.css';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';
import { ShareForm } from './share-form.tsx';

/** Options that the list displays at once; typing finds the others. */
const maxOptions = 50;

/** Shows a button with a dialog that shares chosen vehicles of the account. */
export function ShareVehicles() {
  const { t } = useTranslation('sharing');
  const { data: vehicles = [] } = useVehicles();
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const own = vehicles.filter(({ access }) => access === 'owner');
  const close = (): void => {
    setIsOpen(false);
    setChosen([]);
  };
  return (
    <>
      <Button disabled={own.length === 0} onClick={() => setIsOpen(true)}>
        {t('shareVehicles')}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={t('shareVehicles')}
        closeButtonProps={{ 'aria-label': t('common:action.close') }}
      >
        <Stack gap="sm">
          <MultiSelect
            data-autofocus
            label={t('vehicles')}
            data={own.map(({ id, vehicle_no: number, name }) => ({
              value: String(id),
              label: name === number ? number : `${number} ${name}`,
            }))}
            value={chosen.map(String)}
            searchable
            limit={maxOptions}
            required
            onChange={(ids) => setChosen(ids.map(Number))}
          />
          <ShareForm vehicleIds={chosen} onShared={close} />
        </Stack>
      </Modal>
    </>
  );
}
