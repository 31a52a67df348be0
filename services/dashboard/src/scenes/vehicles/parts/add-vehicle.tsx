import { Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';

interface AddVehicleProps {
  /** Number of a terminal that connected already; empty for none. */
  readonly imei: string;
  readonly onClose: () => void;
}

interface NewVehicle {
  readonly vehicle_no: string;
  readonly name: string;
  readonly imei: string;
}

/** Creates a vehicle. Faults of the server appear at their fields. */
export function AddVehicle({ imei, onClose }: AddVehicleProps) {
  const { t } = useTranslation('vehicles');
  const { api } = useSession();
  const queries = useQueryClient();
  const form = useForm<NewVehicle>({ initialValues: { vehicle_no: '', name: '', imei } });
  const create = useMutation({
    mutationFn: ({ vehicle_no, name, imei }: NewVehicle) => {
      const body = { vehicle_no, ...(name === '' ? {} : { name }), ...(imei === '' ? {} : { imei }) };
      // One key for each filled form: a repeated click creates one vehicle.
      const params = { header: { 'Idempotency-Key': `vehicle ${JSON.stringify(body)}`.slice(0, 255) } };
      return api.POST('/api/vehicles', { body, params });
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['listVehicles'] });
      onClose();
    },
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  const isFieldFault = create.isError && Object.keys(toFieldErrors(create.error)).length > 0;
  return (
    <Modal opened onClose={onClose} title={t('add')} closeButtonProps={{ 'aria-label': t('common:action.close') }}>
      <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <Stack>
          {create.isError && !isFieldFault ? <Failure error={create.error} /> : null}
          <TextInput label={t('column.number')} required maxLength={20} {...form.getInputProps('vehicle_no')} />
          <TextInput label={t('column.name')} maxLength={100} {...form.getInputProps('name')} />
          <TextInput
            label={t('column.terminal')}
            description={t('terminalHint')}
            inputMode="numeric"
            {...form.getInputProps('imei')}
          />
          <FormButtons isSaving={create.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
